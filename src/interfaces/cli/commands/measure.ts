import { toWire } from '../../../domain/values/revision.js'
import { text, type CliCommand } from '../command.js'
import { line, many, note, noteColours, printable, write } from '../output.js'

/** Skipped files that are listed. `--json` has all. */
const MOST_LISTED = 20

export const measure: CliCommand = {
  words: 'measure <directory>',
  describe: 'Count what agent programs forgot in the sessions of a directory, by program and version; records nothing',
  uses: [],
  positionals: { directory: { type: 'string', demandOption: true, describe: 'Directory with recorded sessions' } },
  options: { evidence: text('Also write the evidence of each row to this new directory, one JSON file each') },
  examples: [
    ['$0 measure ~/.claude/projects', 'a Markdown table'],
    ['$0 measure sessions --evidence evidence', 'the same, with the revisions and words of each count'],
  ],
  async run(args) {
    const [{ measureDirectory }, { evidenceFileOf, rejectUsedFolder, writeEvidence }, { rowOf }] = await Promise.all([
      import('../measure/measure-directory.js'),
      import('../measure/write-evidence.js'),
      import('../../../application/losses/measured-programs.js'),
    ])
    const evidence = args.text('evidence')
    if (evidence !== undefined) await rejectUsedFolder(evidence)
    const { programs, skipped } = await measureDirectory(args.word('directory'))
    if (evidence !== undefined) await writeEvidence(evidence, programs)
    const rows = programs.map((each) => ({
      ...rowOf(each),
      ...(evidence === undefined ? {} : { evidence: evidenceFileOf(each) }),
    }))
    if (args.json) {
      await line(toWire({ rows, skipped }))
      return
    }
    for (const { file, reason } of skipped.slice(0, MOST_LISTED))
      note(noteColours.dim(`skipped ${printable(file)}: ${printable(reason)}`))
    if (skipped.length > MOST_LISTED)
      note(noteColours.dim(`skipped ${many(skipped.length - MOST_LISTED, 'more file')}; --json lists all`))
    const { measurementLines } = await import('../reports/measurement.js')
    // A wrapped row would be no row of a table.
    for (const row of measurementLines(rows)) await write(`${row}\n`)
  },
}
