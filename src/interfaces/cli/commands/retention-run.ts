import { metrics, toggle, type CliCommand } from '../command.js'

export const retentionRun: CliCommand = {
  words: 'run',
  describe: 'Erase the conversations that are due, with a receipt: once, or as a worker on a server store',
  uses: ['open', 'record'],
  options: {
    once: toggle('Run once, for a scheduler. Without it, the worker checks every 15 minutes'),
    yes: toggle('Erase. Without it, the conversations that are due are shown'),
    ...metrics,
  },
  examples: [
    ['$0 retention run --once', 'show what is due'],
    ['$0 retention run --once --yes', 'erase it'],
  ],
  async run(args) {
    const { runRetentionWorker } = await import('../workers/retention.js')
    await runRetentionWorker(args.flags, {
      once: args.is('once'),
      yes: args.is('yes'),
      metricsPort: args.whole('metrics-port'),
      metricsHost: args.text('metrics-host') ?? '127.0.0.1',
      json: args.json,
    })
  },
}
