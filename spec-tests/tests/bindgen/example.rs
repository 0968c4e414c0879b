//! The example of the macro does what it says.

#[path = "../../../vm/examples/component_plugin.rs"]
mod component_plugin;

#[test]
fn a_component_adds_up_what_its_host_has() -> Result<(), Box<dyn std::error::Error>> {
    assert_eq!(component_plugin::total(500)?, 410);
    assert_eq!(component_plugin::total(2000)?, 1610);
    assert_eq!(component_plugin::total(10)?, 0);
    Ok(())
}
