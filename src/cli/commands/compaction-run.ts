import { metrics, text, type Command } from '../command.js'

export const compactionRun: Command = {
  words: 'run',
  describe: 'Compact ahead of need in a process of its own, on a server; several share the work',
  options: {
    concurrency: text('Conversations at once [default: 4]'),
    'tokens-per-minute': text('Tokens that all workers together may spend a minute'),
    'tokens-per-day': text('Tokens that they may spend a day (UTC)'),
    ...metrics,
  },
  async run(given) {
    const [{ runCompaction }, { openCompaction }] = await Promise.all([
      import('../workers/compaction.js'),
      import('../../library/compose.js'),
    ])
    await runCompaction(
      given.flags,
      {
        concurrency: given.whole('concurrency'),
        tokensPerMinute: given.whole('tokens-per-minute'),
        tokensPerDay: given.whole('tokens-per-day'),
        metricsPort: given.whole('metrics-port'),
        metricsHost: given.text('metrics-host') ?? '127.0.0.1',
        json: given.json,
      },
      openCompaction,
    )
  },
}
