/**
 * Whether Codex runs hooks. It runs a hook only if `config.toml` has the hash of its present form, in a table named after
 * the file, the event, and the place in the lists of `hooks.json`.
 */
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { hashOf } from '../../../domain/values/hash.js'
import { isRecord } from '../../../lib/is-record.js'
import { textIn } from '../../../lib/text-in.js'
import { many } from '../output.js'
import type { Addition } from './installation.js'
import { findJson } from './json-addition.js'

type HookAddition = Extract<Addition, { readonly kind: 'json' }>
/** `unknown`: the hook is in another form than Codex documents, or the trust in one that only Codex reads. */
type Trust = 'trusted' | 'untrusted' | 'changed' | 'off' | 'unknown'

interface TrustEntry {
  readonly hash: string | undefined
  readonly isOff: boolean
}

const HEADER =
  /^[ \t]*\[[ \t]*hooks[ \t]*\.[ \t]*state[ \t]*\.[ \t]*("(?:[^"\\]|\\.)*"|'[^']*')[ \t]*\][ \t]*(?:#.*)?$/u

/** A quoted string of TOML. A basic string is written like one of JSON. */
function unquoted(quoted: string): string {
  try {
    return quoted.startsWith("'") ? quoted.slice(1, -1) : String(JSON.parse(quoted))
  } catch {
    return quoted
  }
}

/** The trust in hooks, by their keys. Undefined if the settings have it in a form that this does not read. */
function trustIn(config: string): ReadonlyMap<string, TrustEntry> | undefined {
  const entries = new Map<string, TrustEntry>()
  for (const table of config.split(/^(?=[ \t]*\[)/mu)) {
    const [header = '', ...rows] = table.split(/\r?\n/u)
    const key = HEADER.exec(header)?.[1]
    if (key === undefined) continue
    const valueOf = (name: string): string | undefined =>
      rows
        .map((row) => new RegExp(String.raw`^[ \t]*${name}[ \t]*=[ \t]*([^#]*?)[ \t]*(?:#.*)?$`, 'u').exec(row)?.[1])
        .find((value) => value !== undefined)
    const hash = valueOf('trusted_hash')
    entries.set(unquoted(key), {
      hash: hash === undefined ? undefined : unquoted(hash),
      isOff: valueOf('enabled') === 'false',
    })
  }
  const found = [...entries.values()].filter(({ hash }) => hash !== undefined).length
  return (config.match(/trusted_hash/gu) ?? []).length === found ? entries : undefined
}

/** The hash of a hook, as Codex 0.171 computes it: of its values, with the defaults. */
function hookHash(
  event: string,
  group: Readonly<Record<string, unknown>>,
  hook: Readonly<Record<string, unknown>>,
): string {
  const { command, timeout = 600, async = false, statusMessage } = hook
  const matcher = event === 'user_prompt_submit' ? undefined : group['matcher']
  const values = { type: 'command', command, timeout, async, ...(statusMessage === undefined ? {} : { statusMessage }) }
  return hashOf({ event_name: event, ...(matcher === undefined ? {} : { matcher }), hooks: [values] })
}

const recordsIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

const commandOf = (hook: unknown): string | undefined => (isRecord(hook) ? textIn(hook['command']) : undefined)

/** The trust in one hook. */
function trustInHook(addition: HookAddition): Trust {
  const { file, path, value } = addition
  const event = (path.at(-1) ?? '').replaceAll(/(?<=[a-z])(?=[A-Z])/gu, '_').toLowerCase()
  const [own] = isRecord(value) ? recordsIn(value['hooks']) : []
  const groups = recordsIn(findJson(readFileSync(file, 'utf8'), { ...addition, isItem: false }, () => true))
  const places = groups.flatMap((group, groupIndex) =>
    isRecord(group)
      ? recordsIn(group['hooks']).map((hook, index) => ({
          group,
          hook,
          place: `${String(groupIndex)}:${String(index)}`,
        }))
      : [],
  )
  const found = places.find(({ hook }) => commandOf(hook) === commandOf(own))
  const config = join(dirname(file), 'config.toml')
  const entries = trustIn(existsSync(config) ? readFileSync(config, 'utf8') : '')
  if (found === undefined || !isRecord(found.hook) || entries === undefined) return 'unknown'
  const { group, hook, place } = found
  const entry = [file, realpathSync(file)].map((name) => entries.get(`${name}:${event}:${place}`)).find(Boolean)
  if (entry?.isOff === true) return 'off'
  if (entry?.hash === undefined) return 'untrusted'
  return entry.hash === `sha256:${hookHash(event, group, hook)}` ? 'trusted' : 'changed'
}

const REASONS = {
  untrusted: 'that you have not trusted',
  changed: 'whose form is not the one that you trusted',
  off: 'that you switched off',
} as const

/** Why Codex does not run hooks; undefined if it runs them all. */
export function untrustedHooks(additions: readonly Addition[]): string | undefined {
  const trusts = additions.flatMap((each) => (each.kind === 'json' && each.isItem ? [trustInHook(each)] : []))
  const countOf = (trust: Trust): number => trusts.filter((each) => each === trust).length
  const causes = (['untrusted', 'changed', 'off'] as const)
    .filter((trust) => countOf(trust) > 0)
    .map((trust) => `Codex does not run ${many(countOf(trust), 'hook', 'hooks')} ${REASONS[trust]}`)
  const unknown = countOf('unknown')
  if (unknown > 0) causes.push(`whether Codex runs ${many(unknown, 'hook', 'hooks')} could not be checked`)
  return causes.length === 0 ? undefined : `${causes.join(', and ')}: type /hooks in Codex`
}
