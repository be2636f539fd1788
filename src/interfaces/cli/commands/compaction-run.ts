import { metrics, text, type CliCommand } from '../command.js'

export const compactionRun: CliCommand = {
  words: 'run',
  describe: 'Run a compaction worker on a server store; several workers share the work',
  uses: ['open', 'record', 'summarize'],
  options: {
    concurrency: text('Conversations compacted concurrently [default: 4]'),
    'tokens-per-minute': text('Token limit per minute for all workers together'),
    'tokens-per-day': text('Token limit per day (UTC) for all workers together'),
    ...metrics,
  },
  async run(args) {
    const [{ runCompaction }, { openCompaction }] = await Promise.all([
      import('../workers/compaction.js'),
      import('../../../library/compose.js'),
    ])
    await runCompaction(
      args.flags,
      {
        concurrency: args.whole('concurrency'),
        tokensPerMinute: args.whole('tokens-per-minute'),
        tokensPerDay: args.whole('tokens-per-day'),
        metricsPort: args.whole('metrics-port'),
        metricsHost: args.text('metrics-host') ?? '127.0.0.1',
        json: args.json,
      },
      openCompaction,
    )
  },
}
