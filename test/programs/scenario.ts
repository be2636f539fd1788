/** A scenario, which runs on each program that it applies to. */
import type { Trial } from './trial.js'

export interface Scenario {
  /** As in `npm run test:programs NAME`, and the heading of its column. */
  readonly name: string
  run(trial: Trial): Promise<void>
}
