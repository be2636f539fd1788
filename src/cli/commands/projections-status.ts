import type { ProjectionStatus } from '../../../projections/engine/watch.js'
import type { Command } from '../command.js'
import { colours, count, line, showTable, toJson } from '../output.js'
import { withLedger } from '../session.js'
import { tellStopped } from '../stopped-conversations.js'

const lagOf = ({ lagEvents, lagIsAtLeast }: ProjectionStatus): string =>
  `${lagIsAtLeast ? '≥ ' : ''}${count(lagEvents)}`

export const projectionsStatus: Command = {
  words: 'status',
  describe: 'Show position, lag and version of each',
  reads: true,
  async run(given) {
    await withLedger(given.flags, { reads: true }, async ({ ledger }) => {
      const projections = await ledger.projections.status()
      if (given.json) {
        await line(toJson({ projections }))
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
        ['projection', 'state', 'position', 'events behind', 'for', 'partitions', 'version', 'rows, about', 'updated'],
        rows,
        new Set([2, 3, 4, 5, 7]),
      )
      const holder = projections.find((status) => status.holder !== undefined)?.holder
      if (holder !== undefined) await line(`kept by ${holder}`)
      await tellStopped(projections)
      for (const { name, stop, partitions } of projections) {
        const stops = partitions.flatMap((partition) =>
          partition.stop === undefined
            ? []
            : [
                {
                  where: partitions.length === 1 ? name : `${name}, partition ${String(partition.partition)},`,
                  stop: partition.stop,
                },
              ],
        )
        for (const { where, stop: why } of stops.length > 0 || stop === undefined ? stops : [{ where: name, stop }])
          await line(colours.red(`${where} stopped: ${why.reason}${why.advice === undefined ? '' : `; ${why.advice}`}`))
      }
    })
  },
}
