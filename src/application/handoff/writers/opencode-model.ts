/** The model with which opencode continues a session: one that its user has set up. */
import { parse } from 'jsonc-parser'
import { join, resolve } from 'node:path'
import { isRecord } from '../../../lib/is-record.js'
import { textIn } from '../../../lib/text-in.js'
import type { Environment } from '../../../lib/platform.js'
import { agentFolders } from '../../../lib/user-folders.js'
import type { ProgramDirectory } from '../session.js'
import { modelNames } from './provider-of.js'

/** A model as opencode records it. */
export interface OpencodeModel {
  readonly providerID: string
  readonly modelID: string
}

/** Variables with a key of a provider, by the name of the provider. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  anthropic: ['ANTHROPIC_API_KEY'],
  openai: ['OPENAI_API_KEY'],
  google: ['GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
}

type Read = ProgramDirectory['read']

const fieldsIn = async (path: string, read: Read): Promise<Readonly<Record<string, unknown>>> =>
  settingsIn(await read(path))

/** `provider/model`; the model may have slashes. */
function named(value: unknown): OpencodeModel | undefined {
  const [, providerID, modelID] = /^([^/]+)\/(.+)$/u.exec(textIn(value) ?? '') ?? []
  return providerID === undefined || modelID === undefined ? undefined : { providerID, modelID }
}

/** The model that was used last. */
function recentIn(state: Readonly<Record<string, unknown>>): OpencodeModel | undefined {
  const [last]: readonly unknown[] = Array.isArray(state['recent']) ? state['recent'] : []
  const providerID = isRecord(last) ? textIn(last['providerID']) : undefined
  const modelID = isRecord(last) ? textIn(last['modelID']) : undefined
  return providerID === undefined || modelID === undefined ? undefined : { providerID, modelID }
}

/** The files with settings in the order of opencode's documentation, the one that prevails first. */
function settingsFiles(cwd: string, { OPENCODE_CONFIG: file = '' }: Environment, settings: string): readonly string[] {
  const inDirectory = (directory: string): string[] =>
    ['opencode.jsonc', 'opencode.json'].map((name) => join(directory, name))
  return [
    ...inDirectory(join(cwd, '.opencode')),
    ...inDirectory(cwd),
    ...(file === '' ? [] : [resolve(cwd, file)]),
    ...inDirectory(settings),
  ]
}

/** Settings in a text, in which comments are allowed; empty if it is not an object. */
function settingsIn(text: string | undefined): Readonly<Record<string, unknown>> {
  const value: unknown = text === undefined ? undefined : parse(text, [], { allowTrailingComma: true })
  return isRecord(value) ? value : {}
}

/**
 * The model of the settings, else the one that was used last, else the model of the session if its provider is set up.
 * Undefined if there is none.
 * @param model the last model of the session
 */
export async function opencodeModel(
  directory: ProgramDirectory,
  cwd: string,
  model: string | undefined,
): Promise<OpencodeModel | undefined> {
  const { path, user } = directory
  if (user === undefined) return undefined
  const read: ProgramDirectory['read'] = async (file) => await directory.read(file)
  const { environment, home } = user
  const settings = [settingsIn(environment['OPENCODE_CONFIG_CONTENT'])]
  for (const file of settingsFiles(cwd, environment, agentFolders.opencodeSettings(environment, home)))
    settings.push(await fieldsIn(file, read))
  const chosen = settings.map((each) => named(each['model'])).find((each) => each !== undefined)
  if (chosen !== undefined) return chosen
  const recent = recentIn(await fieldsIn(join(agentFolders.opencodeState(environment, home), 'model.json'), read))
  if (recent !== undefined) return recent
  const { provider } = modelNames(model)
  const logins = await fieldsIn(join(path, 'auth.json'), read)
  const isSetUp =
    provider in logins ||
    settings.some(({ provider: all }) => isRecord(all) && provider in all) ||
    (KEYS[provider] ?? []).some((key) => (environment[key] ?? '') !== '')
  return model === undefined || !isSetUp ? undefined : { providerID: provider, modelID: model }
}
