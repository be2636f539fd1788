import { LedgerError } from '../../../lib/ledger-error.js'
import type { CliCommand } from '../command.js'
import { count, line } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { withLedger } from '../session.js'
import { showStopped } from '../stopped-conversations.js'

const phases = { rows: 'rows', indexes: 'building indexes', swap: 'swapping', done: 'done' } as const

export const projectionsRebuild: CliCommand = {
  words: 'rebuild [names..]',
  describe: 'Build new tables from the log, then swap them in',
  uses: ['open', 'record'],
  positionals: { names: { type: 'string', array: true, describe: 'Names of read models [default: all]' } },
  async run(args) {
    const names = args.words('names')
    const [{ didYouMean, nameMeant }, { startProgress }] = await Promise.all([
      import('../../../domain/text/known-names.js'),
      import('../progress.js'),
    ])
    await withLedger(args.flags, {}, async ({ ledger }) => {
      const status = await ledger.admin.projections.status()
      const known = status.map(({ name }) => name)
      const unknown = names.find((name) => !known.includes(name))
      if (unknown !== undefined)
        throw new LedgerError(
          'NoSuchProjection',
          `there is no projection "${unknown}"${didYouMean(nameMeant(unknown, known))}; the projections are ${known.join(', ')}`,
        )
      const startedAt = performance.now()
      let events = 0
      const progress = await startProgress('rebuilding', (status[0]?.head ?? -1) + 1)
      try {
        await ledger.admin.projections.rebuild(names.length === 0 ? 'all' : names, {
          onProgress: ({ phase, done, secondsLeft, ...more }) => {
            events = more.events
            progress.update(done, `${phases[phase]}, ${count(events)} events`, secondsLeft)
          },
        })
      } finally {
        progress.stop()
      }
      const seconds = (performance.now() - startedAt) / 1000
      const rebuilt = names.length === 0 ? known : names
      if (args.json)
        await line(
          toWire({
            rebuilt,
            events,
            seconds: Number(seconds.toFixed(3)),
            stopped: (await ledger.admin.projections.status()).flatMap(({ name, stopped }) =>
              stopped.map((stop) => ({ projection: name, ...stop })),
            ),
          }),
        )
      else await line(`rebuilt ${rebuilt.join(', ')} from ${count(events)} events in ${seconds.toFixed(1)} s`)
      if (!args.json) await showStopped(ledger, await ledger.admin.projections.status())
    })
  },
}
