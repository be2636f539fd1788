import { bounds, conversations, text, toggle, yes, type Command } from '../command.js'
import { InputError } from '../errors.js'

const SUMMARIES = ['recorded', 'extractive'] as const

export const replay: Command = {
  words: 'replay [conversations..]',
  describe: 'Compact the same history again, by another prompt, model or policy, into an edition beside it',
  policy: true,
  positionals: { conversations },
  options: {
    all: toggle('Every conversation'),
    'prompt-name': text('Name to record a prompt under that comes from a file [default: the file’s]'),
    concurrency: text('Conversations at once [default: 4]'),
    ...bounds,
    yes,
    'dry-run': toggle(
      'Record nothing, and call no model: only show what each --policy FILE, or the policy that the flags make, would come to',
    ),
    summaries: text(
      'With --dry-run: as long as those that are recorded, or written by the strategy without a model [default: recorded]',
      SUMMARIES,
    ),
  },
  examples: [
    ['$0 replay --all --prompt new.txt', 'an estimate first, and a question'],
    ['$0 replay --all --prompt new.txt --yes --max-tokens 2000000', 'the same again goes on where it ended'],
    ['$0 replay --all --dry-run --policy small.json --policy large.json', 'cycles, calls and tokens under each'],
  ],
  async run(given) {
    if (given.is('dry-run')) {
      const { runWhatIf } = await import('../replay/what-if.js')
      await runWhatIf(given, given.oneOf('summaries', SUMMARIES))
      return
    }
    if (given.text('summaries') !== undefined)
      throw new InputError('Usage', '--summaries is for --dry-run: an edition has summaries of its own')
    if (given.several('policy').length > 1)
      throw new InputError(
        'Usage',
        '--policy is given more than once: an edition has one policy; --dry-run tries several',
      )
    const { runReplay } = await import('../replay/make-edition.js')
    await runReplay(given.flags, {
      conversations: given.words('conversations'),
      all: given.is('all'),
      promptName: given.text('prompt-name'),
      concurrency: given.whole('concurrency'),
      maxTokens: given.whole('max-tokens'),
      maxCost: given.positive('max-cost'),
      yes: given.is('yes'),
      json: given.json,
    })
  },
}
