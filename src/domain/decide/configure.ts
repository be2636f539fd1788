/** The first command of every conversation, and each later one that changes its settings. */
import { either as E } from 'fp-ts'
import { RENDERER_VERSION } from '../conversation/clip-archive.js'
import type { Conversation } from '../conversation/conversation.js'
import type { Configuration } from '../events/index.js'
import { canonicalJson } from '../values/hash.js'
import type { FindWindow } from '../values/model-windows.js'
import { resolvePolicy, type BadPolicy, type PolicySettings } from '../values/policy.js'
import { defaultEstimator } from '../values/tokens.js'
import type { Decision } from './decision.js'

export interface Configure {
  readonly type: 'Configure'
  readonly settings: PolicySettings | undefined
  readonly scope: string | undefined
  readonly summarizerWindowTokens: number
  /** Who knows the window of the agent's model; left out, what everybody knows. */
  readonly modelWindow?: FindWindow
  readonly estimator?: string | undefined
}

/** The scope of a conversation is said once. */
export type ScopeChanged = {
  readonly kind: 'ScopeChanged'
  readonly recorded: string | undefined
  readonly given: string
}

export function configure(state: Conversation, command: Configure): Decision<ScopeChanged | BadPolicy> {
  const { configuration } = state
  if (configuration !== undefined && command.scope !== undefined && command.scope !== configuration.scope) {
    return E.left({ kind: 'ScopeChanged', recorded: configuration.scope, given: command.scope })
  }
  // A conversation that an older program began goes by today's rendering from its next message on.
  const isUpToDate = configuration === undefined || configuration.rendererVersion >= RENDERER_VERSION
  if (configuration !== undefined && command.settings === undefined && command.estimator === undefined && isUpToDate)
    return E.right([])
  const settings = { ...configuration?.settings, ...command.settings }
  const policy = resolvePolicy(settings, command.summarizerWindowTokens, command.modelWindow)
  if (E.isLeft(policy)) return policy
  const scope = configuration?.scope ?? command.scope
  const next: Configuration = {
    policy: policy.right,
    settings,
    rendererVersion: RENDERER_VERSION,
    estimator: command.estimator ?? configuration?.estimator ?? defaultEstimator.name,
    ...(scope === undefined ? {} : { scope }),
  }
  // Settings that are in force already change nothing, even where the defaults would come out otherwise because the
  // summarizer has another window by now.
  const isInForce =
    configuration !== undefined &&
    canonicalJson(settings) === canonicalJson(configuration.settings) &&
    next.estimator === configuration.estimator
  if (isInForce)
    return E.right(
      isUpToDate
        ? []
        : [{ type: 'ConversationConfigured', data: { ...configuration, rendererVersion: RENDERER_VERSION } }],
    )
  return E.right([{ type: 'ConversationConfigured', data: next }])
}
