/**
 * The ids of a session's messages and answers. Most messages of agents have no id: it is made from the content,
 * with a number if the content repeats.
 */
import type { ContentId } from './content-id.js'

const idOf = (id: string, times: number): string => (times === 0 ? id : `${id}.${String(times)}`)

export class AcpIds {
  /** Ids of records that are recorded. */
  readonly known = new Set<string>()
  private answers = 0
  private hasResult = false
  /** How often a replay has used each name: it shows the session from its beginning, whatever is recorded. */
  private readonly timesReplayed = new Map<string, number>()

  constructor(
    private readonly contentId: ContentId,
    private readonly isReplay: boolean,
  ) {}

  /** The ids of a replay of the session. */
  ofReplay(): AcpIds {
    return new AcpIds(this.contentId, true)
  }

  /** The id of the next message with this name: the next unused one, or, for a replay, by the equal ones in it. */
  idFor(name: string): string {
    const id = name.startsWith('call-') || name.startsWith('result-') ? name : this.contentId(name)
    if (!this.isReplay) for (let times = 0; ; times += 1) if (!this.known.has(idOf(id, times))) return idOf(id, times)
    const times = this.timesReplayed.get(id) ?? 0
    this.timesReplayed.set(id, times + 1)
    return idOf(id, times)
  }

  get answerId(): string {
    return `answer-${String(this.answers)}`
  }

  /** What follows a result belongs to the next answer of the model, and so does what follows the user. */
  beginAnswer(isByUser: boolean): void {
    if (isByUser || this.hasResult) this.answers += 1
    this.hasResult = false
  }

  endAnswer(): void {
    this.hasResult = true
  }
}
