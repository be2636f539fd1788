/**
 * The settings of the policy, each stated once. The types, the checks, the defaults, the form in events, the flags, the
 * description over HTTP and `docs/reference/policy.md` derive from this list.
 */
import { z } from 'zod'
import { SHAPES } from './context-shapes.js'
import { VIEWS } from './view-names.js'

/** One setting. */
export interface Setting<Schema extends z.ZodType = z.ZodType, Kind extends SettingKind = SettingKind> {
  /** What it is, for flags, documents and editors. Names of settings are in backticks. */
  readonly description: string
  /** The values that a user may set. */
  readonly value: Schema
  /**
   * `fixed`: the policy has it, with a fixed default. `derived`: the policy has it, and `resolvePolicy` computes its
   * default. `apart`: the policy in force does not have it, only the settings.
   */
  readonly kind: Kind
  /** The default as a value; for the kinds `derived` and `apart` in words. */
  readonly byDefault: Kind extends 'fixed' ? z.output<Schema> : string
  /** The values in a recorded policy, if more are possible than a user may set. */
  readonly recorded?: z.ZodType<z.output<Schema>>
  /**
   * The value for policies recorded before this setting existed. Every setting that is added has it, so that older events
   * can be read. It must have the effect that a program without the setting had.
   */
  readonly before?: z.output<Schema>
}
type SettingKind = 'fixed' | 'derived' | 'apart'

type Details<Schema extends z.ZodType> = Pick<Setting<Schema>, 'recorded' | 'before'>

const fixed = <Schema extends z.ZodType>(
  value: Schema,
  byDefault: z.output<Schema>,
  description: string,
  details: Details<Schema> = {},
): Setting<Schema, 'fixed'> => ({ kind: 'fixed', value, byDefault, description, ...details })

const derived = <Schema extends z.ZodType>(
  value: Schema,
  byDefault: string,
  description: string,
  details: Details<Schema> = {},
): Setting<Schema, 'derived'> => ({ kind: 'derived', value, byDefault, description, ...details })

const apart = <Schema extends z.ZodType>(
  value: Schema,
  byDefault: string,
  description: string,
): Setting<Schema, 'apart'> => ({ kind: 'apart', value, byDefault, description })

const count = z.number().int().nonnegative()
const positive = z.number().int().positive()

/** All settings, in the order of flags and documents. */
export const policySettings = {
  model: apart(
    z.string().min(1),
    'none',
    'Model of the agent. Its window is used if `modelMaxTokens` is not set; an unknown model has 128,000 tokens',
  ),
  modelMaxTokens: derived(
    z.number().int().min(256),
    'by the name of `model`, otherwise 128,000',
    'Context window of the agent’s model in tokens, 256 or more',
    // A program may register a smaller window.
    { recorded: positive },
  ),
  contextBudget: fixed(
    z.number().gt(0).lte(1),
    0.8,
    'Share of the hard limit at which a cycle starts, above 0 and at most 1',
  ),
  systemReserve: fixed(count, 0, 'Tokens reserved for text that the host itself puts before the context'),
  outputReserve: fixed(count, 0, 'Tokens reserved for the answer'),
  safetyBuffer: fixed(count, 0, 'Tokens reserved because token counts are estimates'),
  chunkSize: fixed(positive, 20, 'Minimum messages of a chunk, which gets one summary'),
  chunkMinTokens: derived(
    count,
    '16 × `maxSummaryTokens`',
    'Minimum tokens of a chunk; 0 forms chunks by the number of messages only',
  ),
  chunkMaxTokens: derived(positive, '60 % of the summarizer’s window', 'Maximum tokens of a chunk'),
  keepRecent: fixed(positive, 5, 'Most recent messages that are not compacted'),
  clipFirst: fixed(count, 2, 'Oldest batches that the view `clip-archive` always shows'),
  clipMiddle: fixed(count, 1, 'Deepest batches between the oldest and the newest that it shows'),
  clipLast: fixed(positive, 2, 'Newest batches that it always shows, 1 or more'),
  buffer: fixed(count, 10, 'Batches in addition to those always shown, before the oldest are merged'),
  maxSummaryTokens: derived(positive, 'a fortieth of the soft limit, at most 1,024', 'Maximum tokens of a summary'),
  temperature: fixed(z.number().min(0).max(2), 0, 'Temperature of the summarizer’s model, 0 to 2'),
  view: fixed(z.enum(VIEWS), 'working-state', 'How compacted messages are shown'),
  shape: fixed(z.enum(SHAPES), 'strict', 'API whose message rules a context follows; `strict` follows those of all'),
  fallback: fixed(z.enum(['extractive', 'none']), 'extractive', 'Fallback at the hard limit if the summarizer fails'),
  redaction: apart(z.enum(['on', 'off']), 'on', 'Whether secrets are replaced before anything is recorded'),
  secretPatterns: apart(
    z.record(z.string(), z.string()).readonly(),
    'none',
    "Patterns of secrets in addition to the built-in ones, by kind: `{ 'shop-order': 'ORD-[0-9]{6}' }`",
  ),
  secretAllow: apart(
    z.array(z.string()).readonly(),
    'none',
    'Patterns of texts that are no secrets. One must match the whole text that would be replaced',
  ),
}

type Settings = typeof policySettings
type ValueOf<S> = S extends Setting<infer Schema> ? z.output<Schema> : never
type NamesOf<Kind extends SettingKind> = {
  [Name in keyof Settings]: Settings[Name] extends Setting<z.ZodType, Kind> ? Name : never
}[keyof Settings]

/** The settings as set and recorded. Tokens, messages and batches are whole numbers. */
export type PolicySettings = { [Name in keyof Settings]?: ValueOf<Settings[Name]> | undefined }
/** The policy in force: a value for every setting that it has. */
export type Policy = { [Name in NamesOf<'fixed' | 'derived'>]: ValueOf<Settings[Name]> }
/** The settings whose default is fixed. */
type FixedSettings = Pick<Policy, NamesOf<'fixed'>>

/** A list of settings, today's or another one. */
type SettingList = Readonly<Record<string, Setting>>

const inPolicy = (settings: SettingList): readonly (readonly [string, Setting])[] =>
  Object.entries(settings).filter(([, { kind }]) => kind !== 'apart')

/**
 * The schema of a recorded policy. A setting that the event does not have gets its value from `before`. A setting that is
 * not in the list is an error, because only a newer program can have recorded it.
 */
export const policySchemaOf = (settings: SettingList): z.ZodObject =>
  z.strictObject(
    Object.fromEntries(
      inPolicy(settings).map(([name, { value, recorded = value, before }]) => [
        name,
        before === undefined ? recorded : recorded.default(before),
      ]),
    ),
    {
      error: (issue) =>
        issue.code === 'unrecognized_keys'
          ? `has settings that only a newer version knows: ${issue.keys.join(', ')}`
          : undefined,
    },
  )

/**
 * A recorded policy as text for a row: without the settings that have their value from `before`. So a row is the same,
 * whether it was written before a setting was added or after.
 */
export const policyForRow = (
  policy: Readonly<Record<string, unknown>>,
  settings: SettingList = policySettings,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(policy).filter(([name, value]) => {
      const before = settings[name]?.before
      return before === undefined || before !== value
    }),
  )

// Both schemas have exactly the settings of the list, which the types of their fields cannot say.
/* oxlint-disable typescript/no-unsafe-type-assertion */
/** The schema of the settings of a user. It also reads the settings in events. */
export const policySettingsSchema = z.strictObject(
  Object.fromEntries(
    Object.entries(policySettings).map(([name, { value, description }]) => [
      name,
      value.optional().meta({ description }),
    ]),
  ),
) as unknown as z.ZodType<PolicySettings>
/** The schema of a recorded policy. */
export const policySchema = policySchemaOf(policySettings) as unknown as z.ZodType<Policy, Partial<Policy>>

/** The settings with fixed defaults. The default applies if the user set no value. */
export const fixedSettings = (settings: PolicySettings): FixedSettings =>
  Object.fromEntries(
    inPolicy(policySettings)
      .filter(([, { kind }]) => kind === 'fixed')
      .map(([name, { byDefault }]) => [name, Reflect.get(settings, name) ?? byDefault]),
  ) as FixedSettings

/** A policy with its settings in the order of the list. */
export const inListOrder = (policy: Policy): Policy =>
  Object.fromEntries(inPolicy(policySettings).map(([name]) => [name, Reflect.get(policy, name)])) as Policy
/* oxlint-enable typescript/no-unsafe-type-assertion */
