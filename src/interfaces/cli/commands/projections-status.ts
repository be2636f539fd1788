/** `projections status`: position, lag and version of each read model, and why one is stopped. */
import type { ProjectionStatus } from '../../../../projections/engine/watch.js'
import type { CliCommand } from '../command.js'
import { colours, count, line, printable, showTable } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { withLedger } from '../session.js'
import { showStopped } from '../stopped-conversations.js'

const lagOf = ({ lagEvents, lagIsAtLeast }: ProjectionStatus): string =>
  `${lagIsAtLeast ? '≥ ' : ''}${count(lagEvents)}`

/** Why a projection, and partitions of it, are stopped. */
function stopLines({ name, stop, partitions }: ProjectionStatus): string[] {
  const stops = [
    { what: name, why: stop },
    ...partitions.map(({ partition, stop: why }) => ({
      what: partitions.length === 1 ? name : `${name}, partition ${String(partition)},`,
      why,
    })),
  ]
  const lines = stops.flatMap(({ what, why }) =>
    why === undefined
      ? []
      : [
          `${what} is stopped: it ${printable(why.reason)}${why.advice === undefined ? '' : `; ${printable(why.advice)}`}`,
        ],
  )
  return [...new Set(lines)]
}

export const projectionsStatus: CliCommand = {
  words: 'status',
  describe: 'Show position, lag and version of each read model',
  uses: ['open'],
  reads: true,
  async run(args) {
    await withLedger(args.flags, { reads: true }, async ({ ledger }) => {
      const projections = await ledger.admin.projections.status()
      if (args.json) {
        await line(toWire({ projections }))
        return
      }
      const rows = projections.map((status) => [
        status.name,
        status.state,
        status.position.toString(),
        lagOf(status),
        `${status.lagSeconds.toFixed(1)} s`,
        status.partitions.length === 0 ? '' : count(status.partitions.length),
        `${String(status.version)}, generation ${String(status.generation)}`,
        status.rows === undefined ? '' : count(status.rows),
        status.updatedAt,
      ])
      await showTable(
        [
          'projection',
          'state',
          'position',
          'lag in events',
          'lag',
          'partitions',
          'version',
          'rows (approx.)',
          'updated',
        ],
        rows,
        new Set([2, 3, 4, 5, 7]),
      )
      const holder = projections.find((status) => status.holder !== undefined)?.holder
      if (holder !== undefined) await line(`read models updated by process ${printable(holder)}`)
      await showStopped(ledger, projections)
      for (const stopLine of projections.flatMap(stopLines)) await line(colours.red(stopLine))
    })
  },
}
