import { LedgerError } from '../../../lib/ledger-error.js'
import { bounds, conversations, text, toggle, yes, type CliCommand } from '../command.js'

const SUMMARIES = ['recorded', 'extractive'] as const

export const replay: CliCommand = {
  words: 'replay [conversations..]',
  describe: 'Compact the same history again with another prompt, model or policy, into a new edition',
  uses: ['open', 'record', 'summarize', 'price'],
  policy: true,
  positionals: { conversations },
  options: {
    all: toggle('Replay every conversation'),
    'prompt-name': text('Name under which a prompt file is recorded [default: the file name]'),
    concurrency: text('Conversations replayed concurrently [default: 4]'),
    ...bounds,
    yes,
    'dry-run': toggle('Record nothing and call no model: simulate each --policy, or the policy from the flags'),
    summaries: text(
      'With --dry-run: size of the summaries, as recorded or from the extractive strategy [default: recorded]',
      SUMMARIES,
    ),
  },
  examples: [
    ['$0 replay --all --prompt new.txt', 'show an estimate and ask before starting'],
    ['$0 replay --all --prompt new.txt --yes --max-tokens 2000000', 'run it again to continue'],
    [
      '$0 replay --all --dry-run --policy small.json --policy large.json',
      'compare cycles, calls and tokens of two policies',
    ],
  ],
  async run(args) {
    if (args.is('dry-run')) {
      const { runWhatIf } = await import('../replay/what-if.js')
      await runWhatIf(args, args.oneOf('summaries', SUMMARIES))
      return
    }
    if (args.text('summaries') !== undefined) throw new LedgerError('Usage', '--summaries requires --dry-run')
    if (args.several('policy').length > 1)
      throw new LedgerError(
        'Usage',
        '--policy can be given only once: an edition has one policy. --dry-run compares several',
      )
    const { runReplay } = await import('../replay/make-edition.js')
    await runReplay(args.flags, {
      conversations: args.words('conversations'),
      all: args.is('all'),
      promptName: args.text('prompt-name'),
      concurrency: args.whole('concurrency'),
      maxTokens: args.whole('max-tokens'),
      maxCost: args.positive('max-cost'),
      yes: args.is('yes'),
      json: args.json,
    })
  },
}
