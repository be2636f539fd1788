/**
 * Evaluates ways to compact recorded conversations and prints one Markdown table for each: `npx tsx
 * scripts/evaluation-table.ts CONVERSATION.jsonl…`. A file has one message in each line; a line with `"type":
 * "conversation"` is skipped. Labelled questions are read from `CONVERSATION.questions.jsonl`, if that file exists.
 *
 * The candidates are `extractive` with two chunk sizes, `fold-in` and `structured`, in a window of
 * `CONTEXT_LEDGER_EVALUATION_WINDOW` tokens (default 8000). The model is the one that `CONTEXT_LEDGER_MODEL`,
 * `CONTEXT_LEDGER_BASE_URL` and `CONTEXT_LEDGER_API_KEY` name. Without `CONTEXT_LEDGER_MODEL` it is a scripted endpoint
 * on this machine, with sentences of the messages as summaries; then the rows with a model show that the command
 * works, and say nothing about models.
 */
import { existsSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { readQuestions } from '../src/interfaces/cli/editions/questions.js'
import { tokensOf } from '../src/domain/reports/prices.js'
import { KIND_NAMES, KEPT_KINDS } from '../src/application/loss-report/kept.js'
import { count, percent } from '../src/domain/text/count.js'
import {
  openLedger,
  type CandidateOptions,
  type Evaluation,
  type MessageInput,
  type PolicySettings,
} from '../src/index.js'
import { sentenceOfProblem } from '../src/library/problem.js'
import { jsonAs } from '../test/support/json.js'
import { startPlausibleEndpoint } from '../test/support/plausible-endpoint.js'

const SCRIPTED_MODEL = 'scripted-1'
const SMALL_CHUNKS: PolicySettings = { chunkSize: 10, chunkMinTokens: 0 }
const LARGE_CHUNKS: PolicySettings = { chunkSize: 40, chunkMinTokens: 0 }
/** Messages of one append. */
const APPENDED_TOGETHER = 200

const window = Number(process.env['CONTEXT_LEDGER_EVALUATION_WINDOW'] ?? 8_000)

const messagesIn = (file: string): MessageInput[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => jsonAs<MessageInput & { readonly type?: string }>(line))
    .filter(({ type }) => type !== 'conversation')

function candidatesOf(model: string, baseUrl: string | undefined): CandidateOptions[] {
  const apiKey = process.env['CONTEXT_LEDGER_API_KEY']
  const endpoint = {
    kind: 'openai',
    model,
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(apiKey === undefined ? {} : { apiKey }),
  } as const
  return [
    { name: 'extractive, chunks of 10', summarizer: 'extractive', policy: SMALL_CHUNKS },
    { name: 'extractive, chunks of 40', summarizer: 'extractive', policy: LARGE_CHUNKS },
    { name: `fold-in, ${model}`, summarizer: { ...endpoint, strategy: 'fold-in' }, policy: SMALL_CHUNKS },
    { name: `structured, ${model}`, summarizer: { ...endpoint, strategy: 'structured' }, policy: SMALL_CHUNKS },
  ]
}

const rowOf = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`

function tableOf(id: string, { candidates, messages }: Evaluation): string {
  const first = candidates.find(({ measures }) => measures !== undefined)?.measures
  if (first === undefined) return `${id}: no candidate finished\n`
  const kinds = KEPT_KINDS.filter((kind) => first.kept[kind].total > 0)
  const { evidence } = first
  const head = [
    `${id}, ${count(messages)} messages`,
    'calls',
    'tokens bought',
    'context',
    ...kinds.map((kind) => `${KIND_NAMES[kind]} (${count(first.kept[kind].total)})`),
    ...(evidence === undefined ? [] : [`evidence (${count(evidence.questions)})`, 'with one search']),
  ]
  const rows = candidates.map(({ name, calls = 0, spent, measures, failures }) => [
    failures.length === 0
      ? name
      : `${name}: failed (${failures.map(({ failure }) => sentenceOfProblem(failure)).join('; ')})`,
    count(calls),
    count(tokensOf(spent)),
    ...(measures === undefined
      ? []
      : [
          count(measures.figures.contextTokens),
          ...kinds.map((kind) => percent(measures.kept[kind].kept, measures.kept[kind].total)),
          ...(measures.evidence === undefined
            ? []
            : [
                percent(measures.evidence.inContext, measures.evidence.questions),
                percent(measures.evidence.withinReach, measures.evidence.questions),
              ]),
        ]),
  ])
  return [rowOf(head), rowOf(head.map((_cell, at) => (at === 0 ? '---' : '--:'))), ...rows.map(rowOf)].join('')
}

const model = process.env['CONTEXT_LEDGER_MODEL']
const scripted = model === undefined ? await startPlausibleEndpoint([SCRIPTED_MODEL]) : undefined
try {
  for (const file of process.argv.slice(2)) {
    const id = basename(file).replace(/\.jsonl$/u, '')
    const questionsFile = file.replace(/\.jsonl$/u, '.questions.jsonl')
    const questions = existsSync(questionsFile) ? await readQuestions(questionsFile) : undefined
    await using ledger = await openLedger({ store: 'memory', policy: { modelMaxTokens: window }, ahead: false })
    const messages = messagesIn(file)
    for (let from = 0; from < messages.length; from += APPENDED_TOGETHER)
      await ledger.append(id, messages.slice(from, from + APPENDED_TOGETHER))
    await ledger.admin.waitForCompaction()
    const evaluation = await ledger.editions.evaluate({
      conversations: [id],
      candidates: candidatesOf(model ?? SCRIPTED_MODEL, scripted?.baseUrl ?? process.env['CONTEXT_LEDGER_BASE_URL']),
      ...(questions === undefined ? {} : { questions }),
    })
    process.stdout.write(`${tableOf(id, evaluation)}\n`)
  }
} finally {
  await scripted?.close()
}
