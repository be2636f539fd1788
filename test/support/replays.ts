/** Replays over the harness: the use cases of editions with a summarizer of their own, waiting for nothing. */
import { either as E } from 'fp-ts'
import { createMemorySpending } from '../../src/adapters/memory/spending.js'
import { adoptEdition, dropEdition, type EditionFailure } from '../../src/application/editions/adopt.js'
import { estimateReplay, type ReplayEstimate } from '../../src/application/editions/estimate.js'
import type { CommandFailure, Handled } from '../../src/application/recording/handle-command.js'
import { createRegisterPrompt } from '../../src/application/recording/register-prompt.js'
import {
  replay,
  type Replay,
  type ReplayAllDependencies,
  type ReplayRequest,
} from '../../src/application/editions/replay.js'
import type { Spending } from '../../src/ports/spending.js'
import type { Summarizer } from '../../src/ports/summarizer.js'
import { guarded } from '../../src/application/summarizers/guarded.js'
import { CONVERSATION, createScriptedSummarizer, type Harness, type ScriptedSummarizer } from './harness.js'

export interface Editor {
  readonly deps: ReplayAllDependencies
  readonly summarizer: ScriptedSummarizer
  readonly spending: Spending
  replay(request?: Partial<ReplayRequest>): Promise<Replay>
  estimate(request?: Partial<ReplayRequest>): Promise<ReplayEstimate>
  adopt(editionId: string, conversationId?: string): Promise<E.Either<EditionFailure | CommandFailure, Handled>>
  drop(editionId: string, conversationId?: string): Promise<E.Either<EditionFailure | CommandFailure, Handled>>
}

export interface EditorOptions {
  readonly summarizer?: ScriptedSummarizer
  readonly spending?: Spending
  /** In place of the scripted one, for what it is wrapped in. */
  readonly as?: Summarizer
}

const BY = { actor: 'test', correlationId: 'c', causationId: 'c' }

/** Another prompt or model over the harness's log. */
export function createEditor(
  harness: Harness,
  {
    summarizer = createScriptedSummarizer({ model: 'another' }),
    spending = createMemorySpending(),
    as,
  }: EditorOptions = {},
): Editor {
  const { log, clock, claims, conversations } = harness
  const deps = {
    log,
    clock,
    claims,
    conversations,
    spending,
    summarizer: as ?? guarded(summarizer),
    persona: '',
    registerPrompt: createRegisterPrompt(log, clock),
    actor: 'test',
    wait: () => Promise.resolve(),
  }
  return {
    deps,
    summarizer,
    spending,
    replay: (request = {}) => replay(deps, { conversationIds: [CONVERSATION], ...request }),
    estimate: (request = {}) => estimateReplay(deps, { conversationIds: [CONVERSATION], ...request }),
    adopt: (editionId, conversationId = CONVERSATION) =>
      adoptEdition(deps, { conversationId, editionId, provenance: BY }),
    drop: (editionId, conversationId = CONVERSATION) =>
      dropEdition(deps, { conversationId, editionId, provenance: BY }),
  }
}
