import { onEndSignal } from '../../../lib/platform.js'
import { LedgerError } from '../../../lib/ledger-error.js'
import type { CliCommand } from '../command.js'
import { line, many } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { withLedger } from '../session.js'

export const projectionsVectors: CliCommand = {
  words: 'vectors',
  describe: 'Compute missing embedding vectors for search by meaning',
  uses: ['open', 'search'],
  async run(args) {
    const { startProgress } = await import('../progress.js')
    await withLedger(args.flags, { searches: true, ahead: false }, async ({ ledger, config }) => {
      if (config.embeddingModel === undefined)
        throw new LedgerError(
          'Usage',
          'no embedding model is configured: set --embedding-model or CONTEXT_LEDGER_EMBEDDING_MODEL',
        )
      const progress = await startProgress('embedding', ((await ledger.admin.projections.status())[0]?.head ?? -1) + 1)
      const stop = new AbortController()
      // A second signal ends the process.
      const ignoreSignals = onEndSignal(() => {
        ignoreSignals()
        stop.abort()
      })
      try {
        const filled = await ledger.admin.projections.fillVectors({
          signal: stop.signal,
          onProgress: ({ embedded, position }) => {
            progress.update(position + 1, `${many(embedded, 'text')} embedded`)
          },
        })
        progress.stop()
        if (args.json) await line(toWire(filled))
        else
          await line(
            `embedded ${many(filled.embedded, 'text')}${filled.missing === 0 ? '; every message has a vector' : `; ${filled.isAtLeast ? 'at least ' : ''}${many(filled.missing, 'message')} still without a vector`}`,
          )
      } finally {
        progress.stop()
        ignoreSignals()
      }
    })
  },
}
