import type { ProjectionStatus } from '../../../../projections/engine/watch.js'
import type { CliCommand } from '../command.js'
import { colours, count, line, showTable } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { withLedger } from '../session.js'
import { showStopped } from '../stopped-conversations.js'

const lagOf = ({ lagEvents, lagIsAtLeast }: ProjectionStatus): string =>
  `${lagIsAtLeast ? '≥ ' : ''}${count(lagEvents)}`

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
        status.state === 'following' ? 'working' : status.state,
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
      if (holder !== undefined) await line(`updated by ${holder}`)
      await showStopped(ledger, projections)
      for (const { name, stop, partitions } of projections) {
        const stops = partitions.flatMap((partition) =>
          partition.stop === undefined
            ? []
            : [
                {
                  name: partitions.length === 1 ? name : `${name}, partition ${String(partition.partition)},`,
                  stop: partition.stop,
                },
              ],
        )
        for (const { name: stoppedName, stop: why } of stops.length > 0 || stop === undefined
          ? stops
          : [{ name, stop }])
          await line(
            colours.red(`${stoppedName} stopped: ${why.reason}${why.advice === undefined ? '' : `; ${why.advice}`}`),
          )
      }
    })
  },
}
