"""Looking at the graph: as networkx knows graphs, measured, written to files, copied, drawn.

``memory.graph`` makes a graph, whole or a part; the functions here take one.
"""

from graphmem.explore.files import read, write
from graphmem.explore.flow import draw_explanation
from graphmem.explore.graph import Edge, Graph, edges_of, entity_of, graph_of, vertices_of
from graphmem.explore.measures import Centrality, Way, centrality, communities, shortest_paths
from graphmem.explore.pictures import draw, draw_diff
from graphmem.explore.property_graph import to_property_graph
from graphmem.explore.subgraphs import around, of_recall, of_session, without_passages

__all__ = [
    "Centrality",
    "Edge",
    "Graph",
    "Way",
    "around",
    "centrality",
    "communities",
    "draw",
    "draw_diff",
    "draw_explanation",
    "edges_of",
    "entity_of",
    "graph_of",
    "of_recall",
    "of_session",
    "read",
    "shortest_paths",
    "to_property_graph",
    "vertices_of",
    "without_passages",
    "write",
]
