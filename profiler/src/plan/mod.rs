//! Placement of counters, and the counts that follow from them.

pub mod block_counters;
pub mod block_plan;
pub mod block_weights;
pub mod edge_plan;
pub mod event_plan;
pub mod optimal_numbering;
pub mod path_model;
pub mod path_numbering;
pub mod path_plan;
pub mod path_plan_others;
pub mod placement_costs;
pub mod preferential_numbering;
pub mod preferential_plan;
pub mod propagate;
pub mod propagate_blocks;
pub mod spanning_tree;
pub mod split_graph;
pub mod vertex_plan;
