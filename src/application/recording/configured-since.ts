/**
 * The settings that a conversation was given since a revision. They reflect the current model, so an adoption or a
 * revert keeps them.
 */
import { replacementTypes } from '../../domain/events/index.js'
import { conversationStream } from '../../domain/values/ids.js'
import { policySettingsSchema, type PolicySettings } from '../../domain/values/policy-settings.js'
import { decodeEvent, isOfType, isReplacement } from './read-event.js'
import { loadConversation, type Log } from './load-conversation.js'

/**
 * Returns the settings changed up to a revision, each with its last value. Further calls continue from the previous
 * one.
 */
export type ConfiguredSince = (until: number) => Promise<PolicySettings>

/** The event types that change a configuration; others are not decoded. */
const CONFIGURING: ReadonlySet<string> = new Set(['ConversationConfigured', ...replacementTypes])

const changed = (before: PolicySettings, after: PolicySettings): PolicySettings =>
  policySettingsSchema.parse(
    Object.fromEntries(Object.entries(after).filter(([name, value]) => Reflect.get(before, name) !== value)),
  )

/** @param since the last revision whose configuration does not count */
export function createConfiguredSince(log: Log, conversationId: string, since: number): ConfiguredSince {
  let readUntil = since
  let current: PolicySettings | undefined
  let changes: PolicySettings = {}
  return async (until) => {
    current ??= (await loadConversation(log, conversationId, since)).configuration?.settings ?? {}
    if (until <= readUntil) return changes
    for await (const stored of log.store.readStream(conversationStream(conversationId), {
      from: readUntil + 1,
      limit: until - readUntil,
    })) {
      if (!CONFIGURING.has(stored.type)) continue
      const event = await decodeEvent(stored, log)
      if (isOfType(event, 'ConversationConfigured')) {
        changes = { ...changes, ...changed(current, event.data.settings) }
        current = event.data.settings
      } else if (isReplacement(event)) current = event.data.carried.configuration.settings
    }
    readUntil = until
    return changes
  }
}
