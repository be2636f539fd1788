/** `evaluate`: checks every candidate, shows their estimates, makes their editions, and prints the measures. */
import { LedgerError } from '../../../lib/ledger-error.js'
import { tokensOf } from '../../../domain/reports/prices.js'
import type { EvaluateOptions, EvaluationProgress, Ledger } from '../../../library/ledger.js'
import { requestedConversations, requestedIds } from '../requested-conversations.js'
import { readQuestions } from '../editions/questions.js'
import { CommandExit, EXIT } from '../errors.js'
import type { CommandArgs } from '../command-args.js'
import { count, line, many, note, noteColours, printable } from '../output.js'
import { moneyText } from '../../../domain/reports/prices.js'
import { toWire } from '../../../domain/values/revision.js'
import { startProgress, type Progress } from '../progress.js'
import { boundsOf, onceApproved } from '../replay/estimate.js'
import {
  documentOfEvaluation,
  documentOfEvaluationEstimate,
  showEvaluation,
  showEvaluationEstimate,
  type AdoptableEvaluation,
} from '../reports/evaluation.js'
import { withLedger } from '../session.js'
import { adoptCommand, candidatesOf, type TypedCandidate } from './candidates.js'
import { writeNewFile } from '../../../ports/new-file.js'

async function show(
  bar: Promise<Progress> | undefined,
  messages: number,
  text: string,
  secondsLeft: number | undefined,
): Promise<void> {
  const started = await bar
  started?.update(messages, text, secondsLeft)
}

/** The progress of all candidates, one bar for each. */
function progressOf(currency: string | undefined): {
  readonly update: (progress: EvaluationProgress) => void
  readonly stop: () => Promise<void>
} {
  let number = 0
  let bar: Promise<Progress> | undefined
  const stop = async (): Promise<void> => {
    const started = await bar
    started?.stop()
  }
  return {
    update(progress) {
      const { messages, messagesOf, calls, costMicros, candidate, candidates, secondsLeft } = progress
      if (progress.number !== number) {
        number = progress.number
        void stop()
        bar = startProgress(`${String(number)} of ${String(candidates)}`, messagesOf)
      }
      const cost = costMicros === undefined || currency === undefined ? '' : `, ${moneyText(costMicros, currency)}`
      const text = `${printable(candidate)}: ${count(messages)} of ${many(messagesOf, 'message')}, ${many(calls, 'call')}, ${many(tokensOf(progress), 'token')}${cost}`
      void show(bar, messages, text, secondsLeft)
    },
    stop,
  }
}

async function evaluateCandidates(
  ledger: Ledger,
  options: EvaluateOptions,
  candidates: readonly TypedCandidate[],
): Promise<AdoptableEvaluation> {
  const progress = progressOf(candidates.find(({ price }) => price !== undefined)?.price?.currency)
  try {
    const evaluation = await ledger.editions.evaluate({ ...options, onProgress: progress.update })
    const flagsOf = new Map(candidates.map(({ name, flags }) => [name, flags]))
    return {
      ...evaluation,
      candidates: evaluation.candidates.map((candidate) => ({
        ...candidate,
        adopt: adoptCommand(candidate.editionId, evaluation.conversationIds, flagsOf.get(candidate.name) ?? []),
      })),
    }
  } finally {
    await progress.stop()
  }
}

/** Every candidate with a model needs a price if the cost is bounded. */
function checkPrices(candidates: readonly TypedCandidate[], maxCost: number | undefined): void {
  if (maxCost === undefined) return
  const withModel = candidates.filter(({ summarizer }) => typeof summarizer === 'object')
  if (withModel.length === 0)
    throw new LedgerError('Usage', '--max-cost requires candidates with a model; extractive candidates cost nothing')
  const unpriced = withModel.find(({ price }) => price === undefined)
  if (unpriced !== undefined)
    throw new LedgerError(
      'Usage',
      `--max-cost needs the price of every model, and "${unpriced.name}" has none: pass a JSON file of prices with --prices`,
    )
}

/** Evaluates and prints. Returns undefined if the user does not confirm. */
async function run(args: CommandArgs): Promise<AdoptableEvaluation | undefined> {
  const all = args.is('all')
  const requested = requestedConversations({ conversations: args.words('conversations'), all }, 'every conversation')
  const concurrency = args.atLeastOne('concurrency')
  const maxCost = args.positive('max-cost')
  const bounds = boundsOf({ maxTokens: args.whole('max-tokens'), maxCost })
  const file = args.text('questions')
  const questions = file === undefined ? undefined : await readQuestions(file)
  // These repeatable flags define candidates; they do not configure the ledger.
  const flags = { ...args.flags, strategy: undefined, model: undefined, prompt: undefined, policy: undefined }
  return await withLedger(
    flags,
    { writes: true, makesSummarizers: true, ahead: false, searches: questions !== undefined },
    async ({ ledger, config }) => {
      const candidates = await candidatesOf(args, config, ledger)
      checkPrices(candidates, maxCost)
      const request = {
        conversations: await requestedIds(ledger, requested),
        candidates: candidates.map(({ flags: _typed, ...candidate }) => candidate),
      }
      const made = await onceApproved(
        {
          estimate: (signal) => ledger.editions.estimateEvaluation({ ...request, signal }),
          show: (estimate) => showEvaluationEstimate(ledger, estimate),
          document: documentOfEvaluationEstimate,
          isSilentIfFree: true,
          yes: args.is('yes'),
          json: args.json,
        },
        (signal) =>
          evaluateCandidates(
            ledger,
            {
              ...request,
              ...bounds,
              ...(questions === undefined ? {} : { questions }),
              ...(concurrency === undefined ? {} : { concurrency }),
              signal,
            },
            candidates,
          ),
      )
      if (made === undefined) return undefined
      if (args.json) await line(toWire(documentOfEvaluation(made.done)))
      else await showEvaluation(ledger, made.done)
      return made.done
    },
  )
}

/** Throws `CommandExit` if a candidate failed, or if the evaluation was stopped. */
function endWith({ candidates, isStopped }: AdoptableEvaluation): void {
  if (isStopped) throw new CommandExit(EXIT.interrupted)
  if (candidates.some(({ failures }) => failures.length > 0)) throw new CommandExit(EXIT.world)
}

/** Runs the command; with `--html` it also writes the report to a new file. */
export async function runEvaluation(args: CommandArgs): Promise<void> {
  const file = args.text('html')
  if (file === undefined) {
    const evaluation = await run(args)
    if (evaluation !== undefined) endWith(evaluation)
    return
  }
  if (file.trim() === '') throw new LedgerError('Usage', '--html needs a file name')
  const { evaluationReportOf } = await import('../../page/evaluation-report.js')
  const evaluations: AdoptableEvaluation[] = []
  // An existing file is rejected before any model call.
  await writeNewFile(file, async () => {
    const evaluation = await run(args)
    if (evaluation === undefined) throw new CommandExit(EXIT.ok)
    evaluations.push(evaluation)
    const adoptCommands = new Map(evaluation.candidates.map(({ editionId, adopt }) => [editionId, adopt]))
    return await evaluationReportOf({ evaluation, adoptCommands, now: new Date() })
  })
  note(noteColours.dim(`wrote the report to ${printable(file)}`))
  for (const evaluation of evaluations) endWith(evaluation)
}
