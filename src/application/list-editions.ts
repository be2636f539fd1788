/** Which editions there are, of which conversations, how far each is and what it took; read from their streams. */
import type { FactData, RecordedFact } from '../domain/events.js'
import { EDITION_PREFIX, editionOf } from '../domain/ids.js'
import type { Amount, Spending } from '../ports/spending.js'
import { decodeFact, isOfType } from './facts.js'
import type { Conversations } from './handle-command.js'
import type { Log } from './load-conversation.js'

/** An edition of one conversation. */
export interface EditionOfConversation {
  readonly editionId: string
  readonly conversationId: string
  readonly state: 'made' | 'in-force' | 'dropped'
  readonly summarizer: FactData<'EditionStarted'>['summarizer']
  /** The template of its first summary. */
  readonly prompt?: { readonly name: string; readonly sha256: string }
  readonly startedAt: string
  readonly lastRecordedAt: string
  /** The conversation's last fact that it has seen, and the last one there is. */
  readonly conversationRevision: bigint
  readonly conversationHead: bigint
  readonly cycles: number
  /** Summaries that it recorded, and how many of them were taken over. */
  readonly summaries: number
  readonly reused: number
  /** What its own summaries took, as the model counted. */
  readonly promptTokens: number
  readonly completionTokens: number
  readonly failures: number
}

/** An edition over all its conversations. */
export interface Edition extends Pick<EditionOfConversation, 'editionId' | 'summarizer' | 'prompt' | 'startedAt' | 'lastRecordedAt' | 'cycles' | 'summaries' | 'reused' | 'promptTokens' | 'completionTokens' | 'failures'> {
  readonly conversations: readonly EditionOfConversation[]
  readonly inForce: number
  readonly dropped: number
  /** What was spent on it, failed and lost calls included. */
  readonly spent: Amount
}

interface Reading {
  started: FactData<'EditionStarted'>
  prompt?: { readonly name: string; readonly sha256: string }
  startedAt: string
  lastRecordedAt: string
  seen: bigint
  cycles: number
  summaries: number
  reused: number
  promptTokens: number
  completionTokens: number
  failures: number
  dropped: boolean
}

function take(reading: Reading, fact: RecordedFact): void {
  reading.lastRecordedAt = fact.metadata.recordedAt
  if (isOfType(fact, 'EditionAdvanced')) reading.seen = fact.data.conversationRevision
  else if (isOfType(fact, 'EditionDropped')) reading.dropped = true
  else if (isOfType(fact, 'EditionStarted')) reading.dropped = false
  else if (isOfType(fact, 'MessagesPruned')) reading.cycles += 1
  else if (isOfType(fact, 'CompactionFailed')) reading.failures += 1
  else if (isOfType(fact, 'ChunkSummarized', 'BatchesResummarized')) {
    const { prompt, usage, reused } = fact.data.summarizer
    reading.prompt ??= prompt
    reading.summaries += 1
    if (reused === true) reading.reused += 1
    else {
      reading.promptTokens += usage?.promptTokens ?? 0
      reading.completionTokens += usage?.completionTokens ?? 0
    }
  }
}

/** Facts that say nothing here: they are not even decoded. */
const SILENT: ReadonlySet<string> = new Set(['BatchArchived', 'CompactionCouldNotHelp'])

export interface ListEditionsDependencies {
  readonly log: Log
  readonly conversations: Pick<Conversations, 'load'>
  readonly spending: Spending
}

/** Every edition, the newest first. */
export async function listEditions({ log, conversations, spending }: ListEditionsDependencies): Promise<readonly Edition[]> {
  const readings = new Map<string, Reading>()
  for await (const stored of log.store.readAll({ prefix: EDITION_PREFIX })) {
    if (SILENT.has(stored.type)) continue
    const fact = await decodeFact(stored, log.bodies)
    const known = readings.get(stored.stream)
    if (known !== undefined) take(known, fact)
    else if (isOfType(fact, 'EditionStarted')) {
      const at = fact.metadata.recordedAt
      readings.set(stored.stream, { started: fact.data, startedAt: at, lastRecordedAt: at, seen: -1n, cycles: 0, summaries: 0, reused: 0, promptTokens: 0, completionTokens: 0, failures: 0, dropped: false })
    }
  }
  const byId = new Map<string, EditionOfConversation[]>()
  for (const [stream, { started, seen, dropped, ...reading }] of readings) {
    const { editionId, conversationId } = editionOf(stream) ?? started
    const { line, revision } = await conversations.load(conversationId)
    const state = line?.edition?.editionId === editionId ? 'in-force' : dropped ? 'dropped' : 'made'
    const { summarizer } = started
    byId.set(editionId, [...(byId.get(editionId) ?? []), { editionId, conversationId, state, summarizer, ...reading, conversationRevision: seen, conversationHead: revision }])
  }
  const editions: Edition[] = []
  for (const [editionId, of] of byId) {
    const [first] = of
    if (first === undefined) continue
    const sum = (field: 'cycles' | 'summaries' | 'reused' | 'promptTokens' | 'completionTokens' | 'failures'): number => of.reduce((all, each) => all + each[field], 0)
    const prompt = of.find((each) => each.prompt !== undefined)?.prompt
    editions.push({
      editionId,
      summarizer: first.summarizer,
      ...(prompt === undefined ? {} : { prompt }),
      startedAt: of.map((each) => each.startedAt).toSorted()[0] ?? '',
      lastRecordedAt: of.map((each) => each.lastRecordedAt).toSorted().at(-1) ?? '',
      cycles: sum('cycles'), summaries: sum('summaries'), reused: sum('reused'), promptTokens: sum('promptTokens'), completionTokens: sum('completionTokens'), failures: sum('failures'),
      conversations: of,
      inForce: of.filter(({ state }) => state === 'in-force').length,
      dropped: of.filter(({ state }) => state === 'dropped').length,
      spent: await spending.spentOn(editionId),
    })
  }
  return editions.toSorted((a, b) => (a.startedAt < b.startedAt ? 1 : -1))
}
