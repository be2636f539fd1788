/** Asks the recorded rules and holds whether an erasure is allowed. */
import type { ErasureParts } from '../erasure/erase.js'
import { judgeDue, judgeErasure } from '../../domain/retention/judge-erasure.js'
import type { Clock } from '../../ports/clock.js'
import type { Log } from '../recording/load-conversation.js'
import { readRetention } from './retention-stream.js'

/** Creates the check that `erase` and the runs use. */
export const createJudge =
  (log: Log, clock: Clock): ErasureParts['judge'] =>
  async (candidate, { isRetention, legalBasis }) => {
    const state = await readRetention(log)
    return isRetention === true
      ? judgeDue(state, candidate, clock.now())
      : judgeErasure(state, candidate, clock.now(), legalBasis)
  }
