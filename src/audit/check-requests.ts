/**
 * Proves where summaries came from. The request of each summary is made again, from its messages, the background, the
 * recorded prompt and the parameters. Its hash must be the recorded one. A request that cannot be made again is
 * counted: it is neither passed nor blamed.
 */
import { either as E } from 'fp-ts'
import { summaryOf, type Batch } from '../domain/conversation/batch.js'
import { prefixUpTo } from '../domain/compaction/prefix.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import type { LiveMessage } from '../domain/conversation/live-message.js'
import type { RecordedEvent, SummarizerRecord } from '../domain/events/index.js'
import { sha256 } from '../domain/values/hash.js'
import { promptStream } from '../domain/values/ids.js'
import type { CheckRequest, RecordedJob, RequestVerdict } from '../ports/request-check.js'
import { decodeEvent, isOfType, UnreadableEventError } from '../recording/read-event.js'
import { sourcesOf, type Finding } from './event-laws.js'
import type { Log } from '../recording/load-conversation.js'

/** Summaries of one verification. */
export interface Requests {
  recomputed: number
  notRecomputed: number
}

/** A prompt as its stream has it, or what is wrong with it. */
export type PromptText = E.Either<string, string>

/** Prompts that are kept in memory; a ledger has a handful. */
const PROMPTS_KEPT = 200
/** Chunks that a later one may continue: those of its own run, of which there are never so many. */
const CHUNKS_KEPT = 1_000
/**
 * Backgrounds and temperatures of before. While a summary is made other batches may be put into force, or another
 * temperature; what it was asked with is older then.
 */
const KEPT_OF_BEFORE = 8

/** What is wrong with the first fact of a prompt's stream; undefined where it is what the stream's name says. */
export function promptProblem(event: RecordedEvent): string | undefined {
  if (!isOfType(event, 'PromptRegistered')) return 'does not begin with a registered prompt'
  if (promptStream(event.data.sha256) !== event.stream)
    return `registers the prompt ${event.data.sha256}, which its stream is not named after`
  return sha256(event.data.text) === event.data.sha256
    ? undefined
    : 'holds another text than the one whose SHA-256 it names'
}

/** The registered prompts, each read once. */
export function createPromptTexts(log: Log): (promptSha256: string) => Promise<PromptText> {
  const known = new Map<string, PromptText>()
  async function read(promptSha256: string): Promise<PromptText> {
    for await (const stored of log.store.readStream(promptStream(promptSha256), { limit: 1 })) {
      try {
        const event = await decodeEvent(stored, log.bodies)
        const problem = promptProblem(event)
        return problem === undefined && isOfType(event, 'PromptRegistered')
          ? E.right(event.data.text)
          : E.left(problem ?? 'is no prompt')
      } catch (error) {
        if (error instanceof UnreadableEventError) return E.left(error.event.detail)
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

/** The summaries of one conversation, in their order. */
export class RequestWatch {
  private readonly chunks = new Map<string, string>()
  private readonly backgrounds: (string | undefined)[] = [undefined]
  private readonly temperatures: number[] = []
  private lastVisible: Batch | undefined

  constructor(
    private readonly check: CheckRequest,
    private readonly prompts: (promptSha256: string) => Promise<PromptText>,
    private readonly requests: Requests,
  ) {}

  /** Notes what summaries are asked with from here on; to be called after each fact that may change it. */
  follow(state: Conversation): void {
    const temperature = state.configuration?.policy.temperature
    if (temperature !== undefined && temperature !== this.temperatures[0]) {
      this.temperatures.unshift(temperature)
      this.temperatures.length = Math.min(this.temperatures.length, KEPT_OF_BEFORE)
    }
    const last = state.visibleBatches.at(-1)
    if (last === this.lastVisible) return
    this.lastVisible = last
    this.backgrounds.unshift(last === undefined ? undefined : summaryOf(last))
    this.backgrounds.length = Math.min(this.backgrounds.length, KEPT_OF_BEFORE)
  }

  private noteChunk(event: SummarizedEvent): void {
    if (!isOfType(event, 'ChunkSummarized')) return
    this.chunks.set(event.data.chunkId, event.data.summary)
    const oldest = this.chunks.size > CHUNKS_KEPT ? this.chunks.keys().next().value : undefined
    if (oldest !== undefined) this.chunks.delete(oldest)
  }

  /**
   * What may have been asked, each a job: with each temperature and, for a first chunk, each background that it may
   * have had. Undefined where it names what is not there.
   */
  private jobs(state: Conversation, event: SummarizedEvent, persona: string): readonly RecordedJob[] | undefined {
    if (isOfType(event, 'BatchesResummarized')) {
      const summaries = sourcesOf(state, event.data.sourceBatchIds)?.map((batch) => ({
        text: summaryOf(batch),
        startTime: batch.startTime,
        endTime: batch.endTime,
        messageCount: batch.messageCount,
        depth: batch.depth,
        sections: batch.sections,
      }))
      return summaries === undefined
        ? undefined
        : this.temperatures.map((temperature) => ({ persona, temperature, kind: 'resummarize', summaries }))
    }
    const live = new Map([...state.retained, ...state.window].map((message) => [message.messageId, message]))
    const messages: LiveMessage[] = event.data.messageIds.flatMap((id) => live.get(id) ?? [])
    if (messages.length !== event.data.messageIds.length) return undefined
    const { continues } = event.data
    if (continues !== undefined && !this.chunks.has(continues)) return undefined
    const backgrounds = continues === undefined ? this.backgrounds : [this.chunks.get(continues)]
    // What rode the agent's context had its beginning in front, which the facts before this one still make.
    const rode = 'prefixMessages' in event.data.summarizer.parameters
    const prefix = rode ? prefixUpTo(state, event.data.messageIds) : undefined
    const riding = prefix === undefined ? {} : { prefix }
    return this.temperatures.flatMap((temperature) =>
      backgrounds.map((existingSummary) => ({
        persona,
        temperature,
        kind: 'chunk',
        messages,
        existingSummary,
        ...riding,
      })),
    )
  }

  /** The text behind a hash; a finding where there is none. */
  private async text(what: string, promptSha256: string, findings: Finding[]): Promise<string | undefined> {
    const text = await this.prompts(promptSha256)
    if (E.isRight(text)) return text.right
    findings.push({ rule: 'prompt', detail: `its ${what} ${promptSha256} ${text.left}` })
    return undefined
  }

  /** What is wrong with the origin of a summary. */
  async summarized(state: Conversation, event: SummarizedEvent): Promise<Finding[]> {
    const { summarizer }: { readonly summarizer: SummarizerRecord } = event.data
    const findings: Finding[] = []
    const template = await this.text('prompt', summarizer.prompt.sha256, findings)
    const persona =
      summarizer.persona === undefined ? '' : await this.text('persona', summarizer.persona.sha256, findings)
    // What was taken over from another line was made upon that line's background, and proved where it was made.
    const reused = summarizer.reused === true
    const unknown =
      !reused &&
      isOfType(event, 'ChunkSummarized') &&
      event.data.continues !== undefined &&
      !this.chunks.has(event.data.continues)
    if (unknown)
      findings.push({
        rule: 'request',
        detail: `continues the chunk ${event.data.continues ?? ''}, which is none of those before it`,
      })
    const jobs = persona === undefined || unknown ? undefined : this.jobs(state, event, persona)
    this.noteChunk(event)
    if (reused && jobs === undefined) this.requests.notRecomputed += 1
    if (template === undefined || jobs === undefined) return findings
    const verdicts: RequestVerdict[] = []
    for (const job of jobs) {
      verdicts.push(this.check(summarizer, job, template))
      if (verdicts.at(-1) === 'same') break
    }
    const found = kindest(verdicts)
    const verdict = reused && found === 'other' ? 'unknown' : found
    if (verdict === 'unknown') this.requests.notRecomputed += 1
    else this.requests.recomputed += 1
    if (verdict === 'other')
      findings.push({
        rule: 'request',
        detail: `its requestHash is not the one of the request that its messages, background, prompt and parameters make`,
      })
    return findings
  }
}
