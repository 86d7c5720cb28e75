use super::*;
use crate::groups::Extent;

fn groups(text: &str) -> Groups {
    let text = format!("%a = f32[] all-reduce(f32[] %x), channel_id=1, use_global_device_ids=true, {text}");
    Groups::of_text(&text, Extent { replicas: Some(1), partitions: Some(16) }, None).expect("groups")
}

#[test]
fn axes_of_a_given_mesh() {
    let mesh = Mesh::parse("data=4, model=4\n").unwrap();
    let along = |text: &str| axes_of(&groups(text), mesh.as_ref());
    assert_eq!(along("replica_groups=[4,4]<=[16]"), "model");
    assert_eq!(along("replica_groups=[4,4]<=[4,4]T(1,0)"), "data");
    assert_eq!(along("replica_groups={}"), "data + model");
    assert_eq!(along("replica_groups={{0,1},{2,3},{4,5},{6,7}}"), "part of model");
    assert_eq!(along("source_target_pairs={{0,4},{4,8},{8,12},{12,0}}"), "data");
    assert_eq!(along("source_target_pairs={{0,0},{1,4},{4,1}}"), "data + model");
    // Ids that the mesh does not have: what the ids show.
    assert_eq!(along("replica_groups={{0,16}}"), "stride 16 x 2");
}

#[test]
fn without_a_mesh_ids_say_what_they_show() {
    let along = |text: &str| axes_of(&groups(text), None);
    assert_eq!(along("replica_groups=[4,4]<=[16]"), "stride 1 x 4");
    assert_eq!(along("replica_groups=[4,4]<=[4,4]T(1,0)"), "stride 4 x 4");
    assert_eq!(along("replica_groups={{0,1,8,9},{2,3,10,11}}"), "stride 8 x 2 + stride 1 x 2");
    assert_eq!(along("replica_groups={{0,1,3},{2,4,5}}"), "irregular groups of 3");
    assert_eq!(along("replica_groups={{0},{1}}"), "each by itself");
    assert_eq!(axes_of(&Groups { size: Some(4), ..Groups::default() }, None), "groups of 4");
    assert_eq!(axes_of(&Groups::default(), None), "unknown");
}

#[test]
fn the_compiler_names_a_mesh() {
    let named = groups("replica_groups=mesh['axis_0'=4,'axis_1'=4] {'axis_0'}");
    let flat = groups("replica_groups=mesh['all'=16] {'all'}");
    let mesh = Mesh::of_groups([&flat, &named]);
    let axes = mesh.as_ref().map(|m| m.axes.clone());
    assert_eq!(axes, Some(vec![("axis_0".to_owned(), 4), ("axis_1".to_owned(), 4)]));
    assert_eq!(axes_of(&named, mesh.as_ref()), "axis_0");
    assert_eq!(axes_of(&flat, mesh.as_ref()), "axis_0 + axis_1");
    assert_eq!(axes_of(&groups("replica_groups=[4,4]<=[16]"), mesh.as_ref()), "axis_1");
    // Devices in another order than 0, 1, 2.
    let turned = groups("replica_groups=mesh['a'=2,'b'=2], device_ids=(0,2,1,3) {'a'}");
    let mesh = Mesh::of_groups([&turned]);
    assert_eq!(turned.lists, [[0, 1], [2, 3]]);
    assert_eq!((axes_of(&turned, mesh.as_ref()), mesh.unwrap().coordinates(4)), ("a".to_owned(), None));
    assert_eq!(Mesh::of_groups([&groups("replica_groups={}")]), None);
}

#[test]
fn what_is_no_mesh_is_refused() {
    for text in ["data", "data=0", "data=x", "=4", "data=4,data=2", "a=1048576,b=2"] {
        assert!(matches!(Mesh::parse(text), Err(Error::Usage(_))), "{text}");
    }
    assert_eq!(Mesh::parse(" ").unwrap(), None);
    for text in ["4x", "0x4", "3x4/2x2", "4x4x4x4", "1048576x1048576"] {
        assert!(matches!(Topology::parse(text), Err(Error::Usage(_))), "{text}");
    }
    assert_eq!(Topology::parse("").unwrap(), None);
}

#[test]
fn chips_stand_host_by_host() {
    let slice = Topology::parse("4x4").unwrap().unwrap();
    let row: Vec<_> = [0, 1, 4, 5].map(|chip| slice.coordinates(chip)).to_vec();
    assert_eq!(row, [Some([0, 0, 0]), Some([1, 0, 0]), Some([2, 0, 0]), Some([3, 0, 0])]);
    assert_eq!(slice.coordinates(2), Some([0, 1, 0]));
    assert_eq!((slice.coordinates(8), slice.coordinates(16)), (Some([0, 2, 0]), None));
    let wide = Topology::parse("4x8/2x4").unwrap().unwrap();
    assert_eq!((wide.coordinates(7), wide.coordinates(8)), (Some([1, 3, 0]), Some([2, 0, 0])));
    let cube = Topology::parse("2x2x2").unwrap().unwrap();
    assert_eq!(cube.coordinates(5), Some([1, 0, 1]));
    assert_eq!(cube.coordinates(-1), None);
}

#[test]
fn physical_axes_go_through_the_assignment() {
    // What libtpu assigned for a mesh of 4 x 4 on a v5e slice of 4x4.
    let devices = vec![0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15];
    let assignment = Assignment { devices };
    let slice = Topology::parse("4x4").unwrap().unwrap();
    let along = |text: &str| slice.axes_of(&groups(text), &assignment);
    assert_eq!(along("replica_groups=[4,4]<=[16]"), Some(vec!["x"]));
    assert_eq!(along("replica_groups=[4,4]<=[4,4]T(1,0)"), Some(vec!["y"]));
    assert_eq!(along("replica_groups={}"), Some(vec!["x", "y"]));
    assert_eq!(assignment.logical_of(4), Some(2));
    assert_eq!(assignment.logical_of(99), None);
}
