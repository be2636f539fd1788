/** Describes the model request that a command waits for, and for how long. */
import type { SummaryRequest } from '../../library/ledger.js'
import { count, duration } from '../../domain/text/count.js'
import { printable } from './output.js'
import { startProgress, type Progress } from './progress.js'

interface OpenRequest {
  readonly request: SummaryRequest
  /** Sequence number; a retry has the number of the first attempt. */
  readonly number: number
  /** Milliseconds of `performance.now()`. */
  readonly sentAt: number
}

const NAMES: Readonly<Record<SummaryRequest['kind'], string>> = {
  chunk: 'chunk',
  resummarize: 're-summarization',
}

/** Tracks the model requests without an answer. */
export class Waiting {
  private readonly numbers = new Map<string, number>()
  private readonly open = new Set<OpenRequest>()
  private total: number | undefined

  /** Sets the maximum number of requests. */
  expect(total: number): void {
    this.total = total
  }

  /** Tracks a request until it is answered. */
  readonly add = (request: SummaryRequest): void => {
    const number = this.numbers.get(request.requestHash) ?? this.numbers.size + 1
    this.numbers.set(request.requestHash, number)
    const entry = { request, number, sentAt: performance.now() }
    this.open.add(entry)
    void request.answered.then(() => this.open.delete(entry))
  }

  /** The oldest open request in words: "chunk 7 of up to 40, waiting 35 s, 20,591 tokens, gpt-4o". */
  text(): string {
    const [oldest] = this.open
    if (oldest === undefined) return ''
    const { request, number, sentAt } = oldest
    const total = this.total === undefined || this.total < number ? '' : ` of up to ${count(this.total)}`
    const seconds = duration((performance.now() - sentAt) / 1_000)
    const more = this.open.size === 1 ? '' : `, and ${count(this.open.size - 1)} more`
    return `${NAMES[request.kind]} ${count(number)}${total}, waiting ${seconds}, ${count(request.promptTokens)} tokens, ${printable(request.model)}${more}`
  }
}

/** A progress display that appears with the first request to a model, for work that often needs none. */
export class WaitingProgress {
  private readonly waiting = new Waiting()
  private progress: Promise<Progress> | undefined

  constructor(private readonly label: string) {}

  /** Tracks a request until it is answered. */
  readonly add = (request: SummaryRequest): void => {
    this.waiting.add(request)
    this.progress ??= startProgress(this.label, 0, () => this.waiting.text())
  }

  /** Waits for the work, then stops the display. */
  async until<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } finally {
      const progress = await this.progress
      progress?.stop()
    }
  }
}
