/**
 * What a conversation was configured with since a revision. Whoever configures it knows by then what its model has room
 * for, so neither an adoption nor a revert takes that back.
 */
import { replacementTypes } from '../domain/events/index.js'
import { conversationStream } from '../domain/values/ids.js'
import { policySettingsSchema, type PolicySettings } from '../domain/values/policy.js'
import { decodeEvent, isOfType, isReplacement } from './read-event.js'
import { loadConversation, type Log } from './load-conversation.js'

/**
 * Gives the settings that were changed up to a revision, each as it was given last; asked again it goes on from where
 * it was.
 */
export type ConfiguredSince = (until: bigint) => Promise<PolicySettings>

/** Types that change a configuration; the others are not even decoded. */
const CONFIGURING: ReadonlySet<string> = new Set(['ConversationConfigured', ...replacementTypes])

const changed = (before: PolicySettings, after: PolicySettings): PolicySettings =>
  policySettingsSchema.parse(
    Object.fromEntries(Object.entries(after).filter(([name, value]) => Reflect.get(before, name) !== value)),
  )

/** @param since the last revision whose configuration does not count */
export function createConfiguredSince(log: Log, conversationId: string, since: bigint): ConfiguredSince {
  let seen = since
  let inForce: PolicySettings | undefined
  let given: PolicySettings = {}
  return async (until) => {
    inForce ??= (await loadConversation(log, conversationId, since)).configuration?.settings ?? {}
    if (until <= seen) return given
    for await (const stored of log.store.readStream(conversationStream(conversationId), {
      from: seen + 1n,
      limit: Number(until - seen),
    })) {
      if (!CONFIGURING.has(stored.type)) continue
      const event = await decodeEvent(stored, log.bodies)
      if (isOfType(event, 'ConversationConfigured')) {
        given = { ...given, ...changed(inForce, event.data.settings) }
        inForce = event.data.settings
      } else if (isReplacement(event)) inForce = event.data.carried.configuration.settings
    }
    seen = until
    return given
  }
}
