//! A drawing that needs nothing from elsewhere: laid out here, as an SVG in a page.
//!
//! Nodes stand in layers, each below all that it reads; a cluster is laid out by itself and then stands as one node. Groups,
//! ids and classes are those of Graphviz's SVG (`graph0`, `nodeN`, `edgeN`, `clustN`), which XProf's page looks for.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::dot::{Graph, Node};

/// Sizes in points.
const CHARACTER: f64 = 6.4;
const LINE: f64 = 15.0;
const MARGIN: f64 = 10.0;
const BESIDE: f64 = 18.0;
const BELOW: f64 = 42.0;

/// Passes over all layers that move nodes towards those they read.
const PASSES: usize = 4;

/// What stands in a layer: a node, or a cluster that has been laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Node(usize),
    Cluster(usize),
}

#[derive(Debug, Clone, Copy, Default)]
struct Box2 {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

struct Layout<'g> {
    graph: &'g Graph,
    /// Place of each node, from the upper left corner of what holds it.
    nodes: Vec<Box2>,
    clusters: Vec<Box2>,
    /// Edges as places of nodes.
    edges: Vec<Option<(usize, usize)>>,
}

impl Graph {
    /// A page that shows the drawing and needs nothing from elsewhere.
    #[must_use]
    pub fn page(&self) -> String {
        let mut layout = Layout::new(self);
        let whole = layout.arrange(None, 0);
        layout.settle();
        let (width, height) = (whole.width + 2.0 * MARGIN, whole.height + 2.0 * MARGIN + 3.0 * LINE);
        let mut svg = String::new();
        layout.draw(&mut svg);
        let title = lines(&self.title);
        let heading: Vec<String> = title
            .iter()
            .enumerate()
            .map(|(at, line)| {
                let y = MARGIN + LINE * (at as f64 + 0.7);
                format!("<text x=\"{MARGIN}\" y=\"{y:.1}\" font-weight=\"bold\">{}</text>", line.0)
            })
            .collect();
        format!(
            "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>{}</title></head><body>\
         <div id=\"graph-container\"><svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" \
         height=\"{height:.0}\" viewBox=\"0 0 {width:.1} {height:.1}\" font-family=\"Roboto, sans-serif\" \
         font-size=\"12\"><g id=\"graph0\" class=\"graph\"><title>G</title>{}<g transform=\"translate({MARGIN} {:.1})\">\
         {svg}</g></g></svg></div><script type=\"text/vnd.graphviz\" id=\"dot\">{}</script></body></html>",
            title.iter().map(|line| line.0.as_str()).collect::<Vec<_>>().join(" "),
            heading.join(""),
            MARGIN + 3.0 * LINE,
            self.dot().replace("</", "<\\/")
        )
    }
}

/// The lines of a label, safe for XML, and whether each is bold.
fn lines(label: &str) -> Vec<(String, bool)> {
    let words = label.split("<br/>").filter(|line| !line.is_empty());
    words
        .map(|line| {
            let plain = line.replace("<b>", "").replace("</b>", "");
            let safe = plain
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&quot;", "\"")
                .replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('>', "&gt;");
            (safe, line.starts_with("<b>") && line.ends_with("</b>"))
        })
        .collect()
}

fn size(label: &str) -> (f64, f64) {
    let lines = lines(label);
    let widest = lines.iter().map(|line| line.0.chars().count().min(80)).max().unwrap_or(1);
    (widest as f64 * CHARACTER + 2.0 * MARGIN, lines.len() as f64 * LINE + MARGIN)
}

fn node_size(node: &Node) -> (f64, f64) {
    let (width, height) = size(&node.body);
    match node.shape {
        "circle" => (60.0, 60.0),
        "diamond" | "ellipse" => (width * 1.3, height * 1.5),
        _ => (width, height),
    }
}

impl<'g> Layout<'g> {
    fn new(graph: &'g Graph) -> Self {
        let places: BTreeMap<&str, usize> =
            graph.nodes.iter().enumerate().map(|(at, node)| (node.id.as_str(), at)).collect();
        let find = |id: &str| places.get(id).copied();
        let sizes = graph.nodes.iter().map(node_size);
        Self {
            graph,
            nodes: sizes.map(|(width, height)| Box2 { width, height, ..Box2::default() }).collect(),
            clusters: vec![Box2::default(); graph.clusters.len()],
            edges: graph.edges.iter().map(|edge| find(&edge.from).zip(find(&edge.to))).collect(),
        }
    }

    /// Lays out what stands directly in a cluster, inner clusters first; gives the size of the whole.
    fn arrange(&mut self, cluster: Option<usize>, depth: usize) -> Box2 {
        let inner: Vec<usize> =
            (0..self.clusters.len()).filter(|at| self.graph.clusters[*at].parent == cluster).collect();
        for &at in &inner {
            let (label_width, label_height) = size(&self.graph.clusters[at].label);
            let body = if depth < 64 { self.arrange(Some(at), depth + 1) } else { Box2::default() };
            self.clusters[at].width = (body.width + 2.0 * MARGIN).max(label_width);
            self.clusters[at].height = body.height + 2.0 * MARGIN + label_height;
        }
        let own = (0..self.nodes.len()).filter(|at| self.graph.nodes[*at].cluster == cluster).map(Item::Node);
        let items: Vec<Item> = own.chain(inner.into_iter().map(Item::Cluster)).collect();
        let row: BTreeMap<Item, usize> = items.iter().enumerate().map(|(at, item)| (*item, at)).collect();
        let mut reads: Vec<Vec<usize>> = vec![Vec::new(); items.len()];
        let mut read_by: Vec<Vec<usize>> = vec![Vec::new(); items.len()];
        for (from, to) in self.edges.iter().flatten() {
            let ends =
                [*from, *to].map(|node| self.item_in(cluster, node).and_then(|i| row.get(&i).copied()));
            if let [Some(from), Some(to)] = ends
                && from != to
            {
                reads[to].push(from);
                read_by[from].push(to);
            }
        }
        let layer = layers(&reads, &read_by);
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); layer.iter().max().map_or(0, |last| last + 1)];
        for (item, layer) in layer.iter().enumerate() {
            rows[*layer].push(item);
        }
        untangle(&mut rows, &reads, &read_by);
        self.stack(&items, &rows)
    }

    /// What stands for a node in a cluster: itself, or the cluster around it there.
    fn item_in(&self, cluster: Option<usize>, node: usize) -> Option<Item> {
        let mut at = self.graph.nodes[node].cluster;
        let mut item = Item::Node(node);
        for _ in 0..=self.graph.clusters.len() {
            if at == cluster {
                return Some(item);
            }
            let inner = at?;
            item = Item::Cluster(inner);
            at = self.graph.clusters[inner].parent;
        }
        None
    }

    /// Puts layers below one another, each in the middle.
    fn stack(&mut self, items: &[Item], rows: &[Vec<usize>]) -> Box2 {
        let extent = |layout: &Self, item: usize| match items[item] {
            Item::Node(at) => layout.nodes[at],
            Item::Cluster(at) => layout.clusters[at],
        };
        let width_of = |layout: &Self, row: &Vec<usize>| {
            row.iter().map(|item| extent(layout, *item).width + BESIDE).sum::<f64>() - BESIDE
        };
        let widest = rows.iter().map(|row| width_of(self, row)).fold(0.0, f64::max);
        let mut y = 0.0;
        for row in rows {
            let tallest = row.iter().map(|item| extent(self, *item).height).fold(0.0, f64::max);
            let mut x = (widest - width_of(self, row)) / 2.0;
            for &item in row {
                let size = extent(self, item);
                let place = Box2 { x, y: y + (tallest - size.height) / 2.0, ..size };
                match items[item] {
                    Item::Node(at) => self.nodes[at] = place,
                    Item::Cluster(at) => self.clusters[at] = place,
                }
                x += size.width + BESIDE;
            }
            y += tallest + BELOW;
        }
        Box2 { width: widest, height: (y - BELOW).max(0.0), ..Box2::default() }
    }

    /// Turns places within clusters into places on the page.
    fn settle(&mut self) {
        let mut origin = vec![(0.0, 0.0); self.clusters.len()];
        // A cluster comes after the one around it.
        for at in 0..self.clusters.len() {
            let (x, y) = self.graph.clusters[at].parent.map_or((0.0, 0.0), |parent| origin[parent]);
            self.clusters[at].x += x;
            self.clusters[at].y += y;
            let label = size(&self.graph.clusters[at].label).1;
            origin[at] = (self.clusters[at].x + MARGIN, self.clusters[at].y + MARGIN + label);
        }
        for (at, node) in self.graph.nodes.iter().enumerate() {
            let (x, y) = node.cluster.map_or((0.0, 0.0), |cluster| origin[cluster]);
            self.nodes[at].x += x;
            self.nodes[at].y += y;
        }
    }

    /// Writes everything. Writing to a string cannot fail.
    fn draw(&self, svg: &mut String) {
        for (at, (cluster, place)) in self.graph.clusters.iter().zip(&self.clusters).enumerate() {
            let Box2 { x, y, width, height } = place;
            let _ = write!(
                svg,
                "<g id=\"clust{}\" class=\"cluster\"><title>{}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" \
                 width=\"{width:.1}\" height=\"{height:.1}\" rx=\"8\" fill=\"{}\" stroke=\"{}\"/>",
                at + 1,
                cluster.id,
                cluster.fill,
                cluster.stroke
            );
            write_label(svg, &cluster.label, x + width / 2.0, *y, "black");
            svg.push_str("</g>");
        }
        for (at, (edge, ends)) in self.graph.edges.iter().zip(&self.edges).enumerate() {
            let Some((from, to)) = ends.map(|(from, to)| (self.nodes[from], self.nodes[to])) else {
                continue;
            };
            let (x1, y1) = (from.x + from.width / 2.0, from.y + from.height);
            let (x2, y2) = (to.x + to.width / 2.0, to.y);
            let bend = ((y2 - y1).abs() / 2.0).clamp(12.0, 120.0);
            let dash = if edge.dashed { " stroke-dasharray=\"4 3\"" } else { "" };
            let _ = write!(
                svg,
                "<g id=\"edge{}\" class=\"edge\"><title>{}</title><path fill=\"none\" stroke=\"#424242\"{dash} \
                 d=\"M{x1:.1},{y1:.1}C{x1:.1},{:.1} {x2:.1},{:.1} {x2:.1},{:.1}\"/><polygon fill=\"#424242\" \
                 points=\"{x2:.1},{y2:.1} {:.1},{:.1} {:.1},{:.1}\"/>",
                at + 1,
                safe(&edge.tooltip),
                y1 + bend,
                y2 - bend,
                y2 - 6.0,
                x2 - 4.0,
                y2 - 8.0,
                x2 + 4.0,
                y2 - 8.0
            );
            if !edge.label.is_empty() {
                let _ =
                    write!(svg, "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", x2 + 6.0, y2 - 4.0, edge.label);
            }
            svg.push_str("</g>");
        }
        for (at, (node, place)) in self.graph.nodes.iter().zip(&self.nodes).enumerate() {
            let Box2 { x, y, width, height } = *place;
            let (middle, centre) = (x + width / 2.0, y + height / 2.0);
            let _ = write!(
                svg,
                "<g id=\"node{}\" class=\"node\"><title>{}</title><a><title>{}</title>",
                at + 1,
                node.id,
                safe(&node.tooltip)
            );
            let c = node.colours;
            let dash = if c.style.contains("dashed") { " stroke-dasharray=\"4 3\"" } else { "" };
            let look = format!("fill=\"{}\" stroke=\"{}\"{dash}", c.fill, c.stroke);
            let _ = match node.shape {
                "circle" | "ellipse" => write!(
                    svg,
                    "<ellipse cx=\"{middle:.1}\" cy=\"{centre:.1}\" rx=\"{:.1}\" ry=\"{:.1}\" {look}/>",
                    width / 2.0,
                    height / 2.0
                ),
                "diamond" => write!(
                    svg,
                    "<polygon points=\"{middle:.1},{y:.1} {:.1},{centre:.1} {middle:.1},{:.1} {x:.1},{centre:.1}\" {look}/>",
                    x + width,
                    y + height
                ),
                _ => write!(
                    svg,
                    "<polygon points=\"{x:.1},{y:.1} {0:.1},{y:.1} {0:.1},{1:.1} {x:.1},{1:.1}\" {look}/>",
                    x + width,
                    y + height
                ),
            };
            let text_height = lines(&node.body).len() as f64 * LINE + MARGIN;
            write_label(svg, &node.body, middle, centre - text_height / 2.0, c.font);
            svg.push_str("</a></g>");
        }
    }
}

/// Lines of a label around a middle, downwards from `top`.
fn write_label(svg: &mut String, label: &str, middle: f64, top: f64, colour: &str) {
    for (at, (line, is_bold)) in lines(label).iter().enumerate() {
        let y = top + MARGIN / 2.0 + LINE * (at as f64 + 0.8);
        let weight = if *is_bold { " font-weight=\"bold\"" } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(
            svg,
            "<text text-anchor=\"middle\" x=\"{middle:.1}\" y=\"{y:.1}\" fill=\"{colour}\"{weight}>{line}</text>"
        );
    }
}

fn safe(text: &str) -> String {
    lines(&text.replace('\n', "<br/>")).into_iter().map(|line| line.0).collect::<Vec<_>>().join("\n")
}

/// The layer of each item: below all that it reads. Of a circle, the item that comes first stands above.
fn layers(reads: &[Vec<usize>], read_by: &[Vec<usize>]) -> Vec<usize> {
    let mut missing: Vec<usize> = reads.iter().map(Vec::len).collect();
    let mut layer = vec![0; reads.len()];
    let mut is_done = vec![false; reads.len()];
    let mut ready: Vec<usize> = (0..reads.len()).filter(|item| missing[*item] == 0).rev().collect();
    let mut next = 0;
    loop {
        let item = match ready.pop() {
            Some(item) => item,
            None => match (next..reads.len()).find(|item| !is_done[*item]) {
                Some(item) => {
                    next = item;
                    item
                }
                None => return layer,
            },
        };
        if std::mem::replace(&mut is_done[item], true) {
            continue;
        }
        for &user in &read_by[item] {
            if is_done[user] {
                continue;
            }
            layer[user] = layer[user].max(layer[item] + 1);
            missing[user] = missing[user].saturating_sub(1);
            if missing[user] == 0 {
                ready.push(user);
            }
        }
    }
}

/// Orders each layer by where the items stand that it reads, then by those that read it, a few times.
fn untangle(rows: &mut [Vec<usize>], reads: &[Vec<usize>], read_by: &[Vec<usize>]) {
    let mut place = vec![0.0; reads.len()];
    let note = |row: &[usize], place: &mut [f64]| {
        let middle = row.len() as f64 / 2.0;
        for (at, item) in row.iter().enumerate() {
            place[*item] = at as f64 - middle;
        }
    };
    for row in rows.iter() {
        note(row, &mut place);
    }
    for pass in 0..PASSES {
        let ties = if pass % 2 == 0 { reads } else { read_by };
        let mut sort = |row: &mut Vec<usize>| {
            let wish = |item: usize| {
                let others = &ties[item];
                let sum: f64 = others.iter().map(|other| place[*other]).sum();
                if others.is_empty() { place[item] } else { sum / others.len() as f64 }
            };
            let mut wishes: Vec<(f64, usize)> = row.iter().map(|item| (wish(*item), *item)).collect();
            wishes.sort_by(|a, b| a.0.total_cmp(&b.0));
            *row = wishes.into_iter().map(|wish| wish.1).collect();
            note(row, &mut place);
        };
        if pass % 2 == 0 {
            rows.iter_mut().for_each(&mut sort);
        } else {
            rows.iter_mut().rev().for_each(&mut sort);
        }
    }
}
