import { metrics, text, type CliCommand } from '../command.js'

export const projectionsRun: CliCommand = {
  words: 'run',
  describe: 'Run the read model worker on a server store; of several processes one is active, the rest wait',
  uses: ['open'],
  options: {
    partitions: text('Number of partitions of the conversations [default: unchanged; initially 1]'),
    ...metrics,
  },
  async run(args) {
    const [{ runProjections }, { openProjections }] = await Promise.all([
      import('../workers/projections.js'),
      import('../../../library/compose.js'),
    ])
    await runProjections(
      args.flags,
      {
        partitions: args.whole('partitions'),
        metricsPort: args.whole('metrics-port'),
        metricsHost: args.text('metrics-host') ?? '127.0.0.1',
        json: args.json,
      },
      openProjections,
    )
  },
}
