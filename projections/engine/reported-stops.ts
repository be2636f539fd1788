/** Why projections and conversations stopped in this process. Each reason is passed to `onStop` once. */
import type { Stop } from './checkpoints.js'
import type { Target } from './target.js'
import { projectionStopped, type Refusal } from './watch.js'

export class ReportedStops {
  /** Why this program cannot apply events to a live generation. A stop at an event is recorded with its checkpoint. */
  readonly refusals = new Map<string, Refusal>()
  /** Keys of the stopped conversations that were passed to `onStop`. */
  private readonly reported = new Set<string>()

  constructor(private readonly onStop: ((projection: string, stop: Stop) => void) | undefined) {}

  refuse(name: string, generation: number, stop: Stop): void {
    this.refusals.set(name, { stop, generation })
    this.onStop?.(name, stop)
  }

  /** Throws if a projection stopped: a refused one, or one of the targets. */
  throwFirst(targets: readonly Target[] = []): void {
    for (const [name, { stop }] of this.refusals) throw projectionStopped(name, stop)
    for (const { projection, stop } of targets) if (stop !== undefined) throw projectionStopped(projection.name, stop)
  }

  reportConversations(targets: readonly Target[]): void {
    for (const { projection, generation, stopped } of targets) {
      for (const stop of stopped.values()) {
        const key = JSON.stringify([projection.name, generation, stop.conversationId])
        if (this.reported.has(key)) continue
        this.reported.add(key)
        this.onStop?.(projection.name, stop)
      }
    }
  }
}
