//! Writes the seeds of the image target anew: the accounts that the seeds of the commands leave.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    for entry in seeds.join("commands").read_dir()? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let images = scurry_fuzz::commands::images(&std::fs::read(&path)?);
        for (number, image) in images.iter().enumerate() {
            std::fs::write(seeds.join("image").join(format!("{name}-{number}.bin")), image)?;
        }
    }
    Ok(())
}
