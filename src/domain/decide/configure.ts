/** The first command of every conversation. Later ones change its settings. */
import { either as E } from 'fp-ts'
import { RENDERER_VERSION } from '../conversation/clip-archive.js'
import type { Conversation } from '../conversation/conversation.js'
import type { Configuration } from '../events/index.js'
import { canonicalJson } from '../values/hash.js'
import type { FindWindow } from '../values/model-windows.js'
import { resolvePolicy, type BadPolicy } from '../values/policy.js'
import type { PolicySettings } from '../values/policy-settings.js'
import { defaultEstimator } from '../values/tokens.js'
import type { Decision } from './decision.js'

export interface Configure {
  readonly type: 'Configure'
  readonly settings: PolicySettings | undefined
  readonly scope: string | undefined
  readonly summarizerWindowTokens: number
  /** Finds the window of the agent's model; default: the known models. */
  readonly modelWindow?: FindWindow
  readonly estimator?: string | undefined
}

/** The scope of a conversation cannot change. */
export type ScopeChanged = {
  readonly kind: 'ScopeChanged'
  readonly recorded: string | undefined
  readonly given: string
}

/** The configuration in force, with the current renderer version. Before version 4 there was no choice of a shape. */
const upToDate = (configuration: Configuration, next: Configuration): Configuration => ({
  ...configuration,
  policy:
    configuration.rendererVersion < 4 ? { ...configuration.policy, shape: next.policy.shape } : configuration.policy,
  rendererVersion: RENDERER_VERSION,
})

export function configure(state: Conversation, command: Configure): Decision<ScopeChanged | BadPolicy> {
  const { configuration } = state
  if (configuration !== undefined && command.scope !== undefined && command.scope !== configuration.scope) {
    return E.left({ kind: 'ScopeChanged', recorded: configuration.scope, given: command.scope })
  }
  // A conversation started by an older program uses the current renderer from its next message on.
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
  // Repeated settings change nothing, even if the summarizer's window has changed and the defaults would differ.
  const isInForce =
    configuration !== undefined &&
    canonicalJson(settings) === canonicalJson(configuration.settings) &&
    next.estimator === configuration.estimator
  if (isInForce)
    return E.right(isUpToDate ? [] : [{ type: 'ConversationConfigured', data: upToDate(configuration, next) }])
  return E.right([{ type: 'ConversationConfigured', data: next }])
}
