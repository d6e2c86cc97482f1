//! `huginn-net inventory`: the cryptography of capture files.

use huginn_net::blind_spots::BlindSpot;
use huginn_net::hosts::HostLimits;

use super::fold::Fold;
use crate::args::{InventoryArguments, InventoryFormat};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::plan::InventoryPlan;
use crate::run::CaptureRun;
use crate::views::columns;
use crate::views::inventory::{self, Summary};
use crate::views::store::Part;

pub(super) fn run(args: InventoryArguments) -> Result<Outcome, Failure> {
    let InventoryPlan { inputs, analyzer, format, top, output } = InventoryPlan::new(args)?;
    let mut writer = output.create(false)?;
    let mut run = CaptureRun::start(inputs, analyzer, output.is_quiet)?;
    let mut fold = Fold::new(&[Part::Cryptography], &HostLimits::default());
    run.run(&mut fold)?;
    let inventory = fold.store.cryptography;
    let summary = Summary::new(&inventory);
    let width = columns::width(writer.is_on_terminal());
    let out = writer.begin_part()?;
    match format {
        InventoryFormat::Human => {
            let spots = BlindSpot::of_analyzer(&run.analyzer);
            let unread = spots.iter().find(|spot| spot.name == "unknown_link");
            inventory::write_text(out, &inventory, &summary, unread, top, width, &output.zone)?;
        }
        InventoryFormat::Json => inventory::write_json(out, &inventory, &summary, run.opened())?,
        InventoryFormat::Cyclonedx => inventory::write_cyclonedx(out, &inventory, &summary)?,
    }
    writer.finish()?;
    Ok(run.outcome())
}
