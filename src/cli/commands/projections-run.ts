import { metrics, text, type Command } from '../command.js'

export const projectionsRun: Command = {
  words: 'run',
  describe: 'Keep the read models in a process of its own, on a server; of several, one works and the others stand by',
  options: {
    partitions: text('Workers that the conversations are spread over [default: as before; 1 at first]'),
    ...metrics,
  },
  async run(given) {
    const [{ runProjections }, { openProjections }] = await Promise.all([
      import('../workers/projections.js'),
      import('../../library/compose.js'),
    ])
    await runProjections(
      given.flags,
      {
        partitions: given.whole('partitions'),
        metricsPort: given.whole('metrics-port'),
        metricsHost: given.text('metrics-host') ?? '127.0.0.1',
        json: given.json,
      },
      openProjections,
    )
  },
}
