import type { Command } from '../command.js'
import { InputError } from '../errors.js'
import { line, many, toJson } from '../output.js'
import { withLedger } from '../session.js'

export const projectionsVectors: Command = {
  words: 'vectors',
  describe: 'Give every message that has none its vector, for the search by meaning',
  async run(given) {
    const { startProgress } = await import('../progress.js')
    await withLedger(given.flags, { searches: true, ahead: false }, async ({ ledger, config }) => {
      if (config.embeddingModel === undefined)
        throw new InputError(
          'Usage',
          'no embedding model is configured: --embedding-model or CONTEXT_LEDGER_EMBEDDING_MODEL names one',
        )
      const progress = await startProgress('embedding', Number((await ledger.projections.status())[0]?.head ?? -1n) + 1)
      const stop = new AbortController()
      const onSignal = (): void => {
        stop.abort()
      }
      process.once('SIGINT', onSignal)
      process.once('SIGTERM', onSignal)
      try {
        const filled = await ledger.projections.fillVectors({
          signal: stop.signal,
          onProgress: ({ embedded, position }) => {
            progress.update(Number(position) + 1, `${many(embedded, 'text')} embedded`)
          },
        })
        progress.stop()
        if (given.json) await line(toJson(filled))
        else
          await line(
            `embedded ${many(filled.embedded, 'text')}${filled.missing === 0 ? '; every message has its vector' : `; ${filled.isAtLeast ? 'at least ' : ''}${many(filled.missing, 'message')} to go`}`,
          )
      } finally {
        progress.stop()
        process.removeListener('SIGINT', onSignal)
        process.removeListener('SIGTERM', onSignal)
      }
    })
  },
}
