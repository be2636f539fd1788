import { STRATEGIES } from '../../../application/summarizers/strategy-names.js'
import { conversations, text, toggle, yes, type CliCommand } from '../command.js'

export const evaluate: CliCommand = {
  words: 'evaluate [conversations..]',
  describe: 'Compare strategies, prompts, models and policies on your own conversations',
  uses: ['open', 'record', 'summarize', 'search', 'price'],
  policy: true,
  positionals: { conversations },
  options: {
    all: toggle('Evaluate every conversation'),
    strategy: text(
      'Strategy of a candidate; repeatable. The extractive strategy is always included [default: the configured strategy]',
      [...STRATEGIES, 'extractive'],
    ),
    model: text('Model of a candidate: NAME, or NAME@https://host/v1 for another endpoint; repeatable'),
    prompt: text('Prompt of a candidate: a file, a recorded prompt, or built-in; repeatable'),
    questions: text(
      'JSON Lines of { question, evidence: [message ids], answerable? }: measures how much evidence stays reachable',
    ),
    html: text('Also write an HTML report to this new file'),
    concurrency: text('Conversations evaluated concurrently [default: 4]'),
    'max-tokens': text('Token limit for all candidates together, including earlier runs'),
    'max-cost': text('Cost limit for all candidates together, by list prices or --prices'),
    yes,
  },
  examples: [
    ['$0 evaluate CONV --policy chunkSize=10 --policy chunkSize=40', 'compare two chunk sizes without a model'],
    [
      '$0 evaluate CONV --model small --model large --prompt built-in --prompt mine.txt',
      'compare two models and two prompts',
    ],
    [
      '$0 evaluate --all --strategy fold-in --strategy structured --questions q.jsonl --html report.html',
      'compare strategies and write a report',
    ],
  ],
  async run(args) {
    const { runEvaluation } = await import('../evaluate/run-evaluation.js')
    await runEvaluation(args)
  },
}
