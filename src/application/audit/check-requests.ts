/**
 * Proves the origin of summaries. The request of each summary is rebuilt from its messages, the background, the
 * recorded prompt and the parameters. Its hash must equal the recorded one. A request that cannot be rebuilt is only
 * counted.
 */
import { summariesBefore } from '../../domain/conversation/summaries-before.js'
import { either as E } from 'fp-ts'
import { summaryOf, summaryToFold, workingStateOf, type Batch } from '../../domain/conversation/batch.js'
import { prefixUpTo } from '../../domain/compaction/prefix.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import type { LiveMessage } from '../../domain/conversation/live-message.js'
import { applyOperations } from '../../domain/conversation/working-state.js'
import { NO_STATE, type RecordedEvent, type SummarizerRecord, type WorkingState } from '../../domain/events/index.js'
import { sha256 } from '../../domain/values/hash.js'
import { promptStream } from '../../domain/values/ids.js'
import type { CheckRequest, RecordedJob, RequestVerdict } from '../../ports/request-check.js'
import { decodeEvent, isOfType, isUnreadableEvent } from '../recording/read-event.js'
import { sourcesOf, type Finding } from './event-laws.js'
import type { Log } from '../recording/load-conversation.js'

/** Summary counts of one verification. */
export interface Requests {
  recomputed: number
  notRecomputed: number
}

/** The text of a prompt, or the problem with its stream. */
export type PromptText = E.Either<string, string>

/** The number of cached prompts; a ledger has a handful. */
const PROMPTS_KEPT = 200
/** The number of earlier chunks that a later one may continue. A run makes far fewer. */
const CHUNKS_KEPT = 1_000
/**
 * The number of earlier backgrounds and temperatures. Batches or the temperature may change while a summary is made, so
 * a request may use older ones.
 */
const KEPT_OF_BEFORE = 8

/** The problem with the first event of a prompt's stream; undefined if it matches the name of the stream. */
export function promptProblem(event: RecordedEvent): string | undefined {
  if (!isOfType(event, 'PromptRegistered')) return 'does not begin with a registered prompt'
  if (promptStream(event.data.sha256) !== event.stream)
    return `registers the prompt ${event.data.sha256}, but its stream has another name`
  return sha256(event.data.text) === event.data.sha256 ? undefined : 'has a text with another SHA-256 than it names'
}

/** Reads registered prompts, each once. */
export function createPromptTexts(log: Log): (promptSha256: string) => Promise<PromptText> {
  const known = new Map<string, PromptText>()
  async function read(promptSha256: string): Promise<PromptText> {
    for await (const stored of log.store.readStream(promptStream(promptSha256), { limit: 1 })) {
      try {
        const event = await decodeEvent(stored, log)
        const problem = promptProblem(event)
        return problem === undefined && isOfType(event, 'PromptRegistered')
          ? E.right(event.data.text)
          : E.left(problem ?? 'is no prompt')
      } catch (error) {
        if (isUnreadableEvent(error)) return E.left(error.details.detail)
        throw error
      }
    }
    return E.left('is not registered')
  }
  return async (promptSha256) => {
    const before = known.get(promptSha256)
    if (before !== undefined) return before
    const text = await read(promptSha256)
    if (known.size >= PROMPTS_KEPT) known.clear()
    known.set(promptSha256, text)
    return text
  }
}

type SummarizedEvent = RecordedEvent<'ChunkSummarized' | 'BatchesResummarized'>

export const isSummarized = (event: RecordedEvent): event is SummarizedEvent =>
  isOfType(event, 'ChunkSummarized', 'BatchesResummarized')

const VERDICTS: readonly RequestVerdict[] = ['same', 'unknown', 'other']
const kindest = (verdicts: readonly RequestVerdict[]): RequestVerdict =>
  VERDICTS.find((verdict) => verdicts.includes(verdict)) ?? 'unknown'

/** What a request says about the time before its messages. */
interface RecordedBackground {
  readonly summary: string | undefined
  readonly workingState: WorkingState
}

const NO_BACKGROUND: RecordedBackground = { summary: undefined, workingState: NO_STATE }

/** Checks the summaries of one conversation, in order. */
export class RequestWatch {
  private readonly chunks = new Map<string, RecordedBackground>()
  private readonly backgrounds: RecordedBackground[] = [NO_BACKGROUND]
  private readonly temperatures: number[] = []
  private lastVisible: Batch | undefined
  /** The active batches, and those before the last changes: a request may have used either. */
  private readonly activeBatches: (readonly Batch[])[] = []

  constructor(
    private readonly check: CheckRequest,
    private readonly prompts: (promptSha256: string) => Promise<PromptText>,
    private readonly requests: Requests,
  ) {}

  /** Notes the inputs of future requests. Called after each event that may change them. */
  follow(state: Conversation): void {
    const temperature = state.configuration?.policy.temperature
    if (temperature !== undefined && temperature !== this.temperatures[0]) {
      this.temperatures.unshift(temperature)
      this.temperatures.length = Math.min(this.temperatures.length, KEPT_OF_BEFORE)
    }
    if (state.batches !== this.activeBatches[0]) {
      this.activeBatches.unshift(state.batches)
      this.activeBatches.length = Math.min(this.activeBatches.length, KEPT_OF_BEFORE)
    }
    const last = state.visibleBatches.at(-1)
    if (last === this.lastVisible) return
    this.lastVisible = last
    this.backgrounds.unshift({
      summary: last === undefined ? undefined : summaryOf(last),
      workingState: workingStateOf(state.batches),
    })
    this.backgrounds.length = Math.min(this.backgrounds.length, KEPT_OF_BEFORE)
  }

  /** The distinct backgrounds that a request for one of these batches may have had. */
  private backgroundsBefore(sourceBatchIds: readonly string[]): readonly (string | undefined)[] {
    return [...new Set(this.activeBatches.map((batches) => summariesBefore(batches, sourceBatchIds)))]
  }

  private noteChunk(event: SummarizedEvent): void {
    if (!isOfType(event, 'ChunkSummarized')) return
    const { chunkId, summary, operations, continues } = event.data
    const { workingState } =
      (continues === undefined ? this.backgrounds[0] : this.chunks.get(continues)) ?? NO_BACKGROUND
    this.chunks.set(chunkId, { summary, workingState: applyOperations(workingState, operations ?? []) })
    const oldest = this.chunks.size > CHUNKS_KEPT ? this.chunks.keys().next().value : undefined
    if (oldest !== undefined) this.chunks.delete(oldest)
  }

  /**
   * The possible requests, as jobs: with each temperature and, for a first chunk, each possible background. Undefined
   * if the event refers to messages or batches that do not exist.
   */
  private jobs(state: Conversation, event: SummarizedEvent, persona: string): readonly RecordedJob[] | undefined {
    if (isOfType(event, 'BatchesResummarized')) {
      const summaries = sourcesOf(state, event.data.sourceBatchIds)?.map(summaryToFold)
      return summaries === undefined
        ? undefined
        : this.temperatures.flatMap((temperature) =>
            this.backgroundsBefore(event.data.sourceBatchIds).map((existingSummary) => ({
              persona,
              temperature,
              kind: 'resummarize',
              summaries,
              existingSummary,
            })),
          )
    }
    const live = new Map([...state.retained, ...state.window].map((message) => [message.messageId, message]))
    const messages: LiveMessage[] = event.data.messageIds.flatMap((id) => live.get(id) ?? [])
    if (messages.length !== event.data.messageIds.length) return undefined
    const { continues } = event.data
    if (continues !== undefined && !this.chunks.has(continues)) return undefined
    const backgrounds = continues === undefined ? this.backgrounds : [this.chunks.get(continues) ?? NO_BACKGROUND]
    // A request that reuses the agent's context begins with its messages, which the earlier events still produce.
    const usesPrefix = 'prefixMessages' in event.data.summarizer.parameters
    const prefix = usesPrefix ? prefixUpTo(state, event.data.messageIds) : undefined
    const prefixOption = prefix === undefined ? {} : { prefix }
    return this.temperatures.flatMap((temperature) =>
      backgrounds.map(({ summary, workingState }) => ({
        persona,
        temperature,
        kind: 'chunk',
        messages,
        existingSummary: summary,
        workingState,
        ...prefixOption,
      })),
    )
  }

  /** The text with this hash. Adds a finding if there is none. */
  private async text(what: string, promptSha256: string, findings: Finding[]): Promise<string | undefined> {
    const text = await this.prompts(promptSha256)
    if (E.isRight(text)) return text.right
    findings.push({ rule: 'prompt', detail: `its ${what} ${promptSha256} ${text.left}` })
    return undefined
  }

  /** The problems with the origin of a summary. */
  async summarized(state: Conversation, event: SummarizedEvent): Promise<Finding[]> {
    const { summarizer }: { readonly summarizer: SummarizerRecord } = event.data
    const findings: Finding[] = []
    const template = await this.text('prompt', summarizer.prompt.sha256, findings)
    const persona =
      summarizer.persona === undefined ? '' : await this.text('persona', summarizer.persona.sha256, findings)
    // A reused summary was made with the background of another lineage, and is checked there.
    const reused = summarizer.reused === true
    const unknown =
      !reused &&
      isOfType(event, 'ChunkSummarized') &&
      event.data.continues !== undefined &&
      !this.chunks.has(event.data.continues)
    if (unknown)
      findings.push({
        rule: 'request',
        detail: `continues the chunk ${event.data.continues ?? ''}, which is not one of those before it`,
      })
    const jobs =
      persona === undefined || unknown || event.data.erased === true ? undefined : this.jobs(state, event, persona)
    this.noteChunk(event)
    if (reused && jobs === undefined) this.requests.notRecomputed += 1
    if (template === undefined || jobs === undefined) return findings
    const verdicts: RequestVerdict[] = []
    for (const job of jobs) {
      verdicts.push(this.check(summarizer, job, template))
      if (verdicts.at(-1) === 'same') break
    }
    const best = kindest(verdicts)
    const verdict = reused && best === 'other' ? 'unknown' : best
    if (verdict === 'unknown') this.requests.notRecomputed += 1
    else this.requests.recomputed += 1
    if (verdict === 'other')
      findings.push({
        rule: 'request',
        detail: `its requestHash differs from that of the request that its messages, background, prompt and parameters make`,
      })
    return findings
  }
}
