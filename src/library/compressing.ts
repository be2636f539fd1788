/** Compaction as one function over a host's own list. */
import { createCompress } from '../application/compaction/compress.js'
import type { Command } from '../domain/decide/index.js'
import type { Conversations } from '../application/recording/handle-command.js'
import type { Compacting } from './compacting.js'
import type { Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import type { Ledger } from './ledger.js'
import * as calls from '../schema/calls/messages.js'
import type { LedgerParts } from './parts.js'
import { dataOfProblem, problem } from './problem.js'
import type { ProvenanceOf } from './provenance.js'

export interface CompressingParts extends Pick<LedgerParts, 'log' | 'clock' | 'onProblem'> {
  readonly conversations: Conversations
  readonly configure: () => Extract<Command, { type: 'Configure' }>
  readonly compacting: Pick<Compacting, 'compactDue' | 'wakeWhereDue'>
  readonly gate: Gate
  readonly freshness: Freshness
  readonly provenanceOf: ProvenanceOf
}

export function createCompressing(parts: CompressingParts): Pick<Ledger, 'compress'> {
  const { log, clock, onProblem, conversations, configure, compacting, gate, freshness } = parts
  return {
    compress: createCompress({
      log,
      conversations,
      configure,
      now: () => clock.now(),
      open(options) {
        const provenance = parts.provenanceOf(gate.enter(calls.compress, options))
        freshness.follow()
        return provenance
      },
      onRecorded(handled, provenance) {
        freshness.noteRecorded(handled)
        compacting.wakeWhereDue(handled.state, provenance)
      },
      compact: compacting.compactDue,
      onProblem,
      describe: dataOfProblem,
      errorOf: problem,
    }),
  }
}
