//! Which transaction comes before which, and cycles in that order.
//!
//! A cycle is searched within one strongly connected component, from each edge of the kind that defines the class, by
//! breadth-first search: so the reported cycle is a short one.

use std::collections::VecDeque;

/// Why one transaction comes before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// It wrote what the other replaced (here: the element before the other's).
    Ww,
    /// The other read what it wrote.
    Wr,
    /// It read what the other replaced: the anti-dependency.
    Rw,
    /// The same client had its answer before it began the other.
    Client,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    pub to: usize,
    pub why: Why,
}

/// A circle: each transaction with the reason why it comes before the next one.
pub type Circle = Vec<(usize, Why)>;

#[derive(Debug, Default)]
pub struct Graph {
    edges: Vec<Vec<Edge>>,
}

impl Graph {
    pub fn new(nodes: usize) -> Graph {
        Graph { edges: vec![Vec::new(); nodes] }
    }

    pub fn add(&mut self, from: usize, to: usize, why: Why) {
        let edge = Edge { to, why };
        if from != to && !self.edges[from].contains(&edge) {
            self.edges[from].push(edge);
        }
    }

    /// Strongly connected components of more than one node (Tarjan, without recursion).
    pub fn components(&self) -> Vec<Vec<usize>> {
        const NEW: usize = usize::MAX;
        let count = self.edges.len();
        let (mut order, mut low) = (vec![NEW; count], vec![0; count]);
        let (mut on_stack, mut stack) = (vec![false; count], Vec::new());
        let mut components = Vec::new();
        let mut next = 0;
        for root in 0..count {
            if order[root] != NEW {
                continue;
            }
            let mut path = vec![(root, 0)];
            while let Some((node, edge)) = path.pop() {
                if edge == 0 {
                    (order[node], low[node]) = (next, next);
                    next += 1;
                    stack.push(node);
                    on_stack[node] = true;
                }
                if let Some(to) = self.edges[node].get(edge).map(|edge| edge.to) {
                    path.push((node, edge + 1));
                    if order[to] == NEW {
                        path.push((to, 0));
                    } else if on_stack[to] {
                        low[node] = low[node].min(order[to]);
                    }
                    continue;
                }
                if low[node] == order[node] {
                    let at = stack.iter().rposition(|other| *other == node).expect("it is on the stack");
                    let component = stack.split_off(at);
                    component.iter().for_each(|member| on_stack[*member] = false);
                    if component.len() > 1 {
                        components.push(component);
                    }
                }
                if let Some((parent, _)) = path.last() {
                    low[*parent] = low[*parent].min(low[node]);
                }
            }
        }
        components
    }

    /// A short circle within `members` that begins with an edge of which `first` says so, and goes on along edges of
    /// which `rest` says so: it is told whether the edge before was an anti-dependency. The circle's end counts as
    /// before its beginning.
    pub fn circle(
        &self,
        members: &[usize],
        first: impl Fn(Why) -> bool,
        rest: impl Fn(bool, Why) -> bool,
    ) -> Option<Circle> {
        let inside: std::collections::HashSet<usize> = members.iter().copied().collect();
        let mut shortest: Option<Circle> = None;
        for &from in members {
            for edge in self.edges[from].iter().filter(|edge| inside.contains(&edge.to) && first(edge.why)) {
                let Some(way) = self.way(edge, from, &inside, &rest) else { continue };
                if shortest.as_ref().is_none_or(|shortest| way.len() < shortest.len() - 1) {
                    let mut circle = vec![(from, edge.why)];
                    circle.extend(way);
                    if circle.len() == 2 {
                        return Some(circle);
                    }
                    shortest = Some(circle);
                }
            }
        }
        shortest
    }

    /// The shortest way from the end of an edge back to its beginning.
    fn way(
        &self,
        first: &Edge,
        goal: usize,
        inside: &std::collections::HashSet<usize>,
        rest: &impl Fn(bool, Why) -> bool,
    ) -> Option<Circle> {
        // A state is a node and whether the edge that led there was an anti-dependency.
        let begin = (first.to, first.why == Why::Rw);
        let mut came_from = std::collections::HashMap::from([(begin, None)]);
        let mut queue = VecDeque::from([begin]);
        while let Some(state) = queue.pop_front() {
            let (node, was_rw) = state;
            for edge in &self.edges[node] {
                let next = (edge.to, edge.why == Why::Rw);
                if !inside.contains(&edge.to) || came_from.contains_key(&next) || !rest(was_rw, edge.why) {
                    continue;
                }
                if edge.to == goal {
                    // The first edge follows upon this one.
                    if !rest(next.1, first.why) && first.why == Why::Rw && next.1 {
                        continue;
                    }
                    let mut way = vec![(node, edge.why)];
                    let mut at = state;
                    while let Some((before, why)) = came_from[&at] {
                        let (before, why): ((usize, bool), Why) = (before, why);
                        way.push((before.0, why));
                        at = before;
                    }
                    way.reverse();
                    return Some(way);
                }
                came_from.insert(next, Some((state, edge.why)));
                queue.push_back(next);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_what_can_reach_each_other() {
        let mut graph = Graph::new(6);
        for (from, to) in [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3)] {
            graph.add(from, to, Why::Ww);
        }
        let mut components = graph.components();
        components.iter_mut().for_each(|component| component.sort());
        components.sort();
        assert_eq!(components, [vec![0, 1, 2], vec![3, 4]]);
    }

    #[test]
    fn the_shortest_circle_is_found() {
        let mut graph = Graph::new(4);
        for (from, to, why) in [(0, 1, Why::Rw), (1, 2, Why::Ww), (2, 0, Why::Wr), (1, 0, Why::Wr), (2, 3, Why::Ww)] {
            graph.add(from, to, why);
        }
        let circle = graph.circle(&[0, 1, 2], |why| why == Why::Rw, |_, why| why != Why::Rw).unwrap();
        assert_eq!(circle, [(0, Why::Rw), (1, Why::Wr)]);
        assert_eq!(graph.circle(&[0, 1, 2], |why| why == Why::Ww, |_, why| why == Why::Ww), None);
    }
}
