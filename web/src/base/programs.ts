/** Programs that a page without anything offers: each is whole, and works as it is pasted; pure. */

/** JSON's texts are Python's as well. */
const text = JSON.stringify;

/** Returns a program that logs something, and brings it here while it does. */
function logging(project: string, body: readonly string[], settings = ""): string {
  return [
    "import expr_tracker as et",
    "",
    `et.init(project=${text(project)}, backends=["mapi"]${settings})`,
    ...body,
    "et.finish()",
  ].join("\n");
}

export function curvesProgram(project: string): string {
  return logging(project, [
    "for step in range(100):",
    '    et.log({"loss": 1 / (step + 1)}, step=step)',
  ]);
}

export function paramsProgram(project: string): string {
  return logging(
    project,
    ['et.log({"loss": 0.5})'],
    ', config={"lr": 0.001, "model": {"depth": 12}}',
  );
}

export function printingProgram(project: string): string {
  return logging(project, ['print("epoch 1 is done")'], ", capture_console=True");
}

export function mediaProgram(project: string): string {
  return logging(project, [
    'table = et.Table(["digit", "read as"], [[3, 3], [7, 1]])',
    'et.log({"predictions": table}, step=0)',
  ]);
}

export function spansProgram(project: string): string {
  return logging(project, [
    "for step in range(3):",
    '    with et.span("step"):',
    '        with et.span("forward"):',
    "            loss = sum(1 / (n + 1) for n in range(10_000))",
    '    et.log({"loss": loss}, step=step)',
  ]);
}

/** A run below another one is made with the platform's own client. */
export function childProgram(project: string, parent: string): string {
  return [
    "import mapi",
    "",
    `with mapi.Client(project=${text(project)}) as api:`,
    `    with api.runs.create(name="fold 1", parent=${text(parent)}) as run:`,
    '        run.log({"loss": 0.5}, step=0)',
  ].join("\n");
}

/** Which experiment a run is in is the platform's own word. */
export function experimentProgram(project: string, name: string): string {
  return [
    "import expr_tracker as et",
    "import mapi",
    "",
    `run = et.init(project=${text(project)}, backends=["mapi"])`,
    'et.log({"loss": 0.5})',
    "et.finish()",
    "",
    `with mapi.Client(project=${text(project)}) as api:`,
    `    experiment = api.experiments.create(${text(name)}, if_exists="get")`,
    "    for found in api.runs.list(filter=f'external_id = \"{run.id}\"'):",
    "        api.runs.update(found.id, experiment=experiment.id)",
  ].join("\n");
}
