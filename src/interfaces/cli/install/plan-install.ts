/** Plans what `install` changes: the new text of each settings file, and the record that removes it again. */
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { AgentProgram, InstalledCommands } from './agent-program.js'
import type { GuardAction } from '../hook/guard-action.js'
import { withoutUndefined } from '../../../lib/without-undefined.js'
import { findInstallation, type Addition, type Installation, type WrittenAddition } from './installation.js'
import { addJson, EMPTY_JSON, removeJson, type Inserted } from './json-addition.js'
import { readSettings, unusable, type SettingsChange, type SettingsFile } from './settings-file.js'
import { addToml } from './toml-addition.js'

/** The changes for one program. */
export interface InstallPlan {
  readonly program: AgentProgram
  readonly changes: readonly SettingsChange[]
  /** The record after the changes; undefined after a removal. */
  readonly installation: Installation | undefined
  /** Additions that were changed since. They stay, and the user removes them. */
  readonly left: readonly string[]
}

/** The surroundings of a plan. */
export interface InstallWorld {
  /** The private directory of hooks. */
  readonly folder: string
  readonly home: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly commands: InstalledCommands
  /** The ledger, as in `--store`. */
  readonly store: string
  /** The file of rules, as in `--rules`. */
  readonly rules?: string | undefined
  /** What the guard does; undefined without it. */
  readonly guard?: GuardAction | undefined
  /** Whether the plugin makes the summaries of the program. */
  readonly compacts?: true | undefined
  /** Installations of all programs. */
  readonly installations: readonly Installation[]
}

/** The texts of settings files while a plan is made. */
class Texts {
  readonly #files = new Map<string, { readonly file: SettingsFile; text: string | undefined }>()

  async of(path: string): Promise<string | undefined> {
    return (await this.#entry(path)).text
  }

  async set(path: string, text: string | undefined): Promise<void> {
    const entry = await this.#entry(path)
    entry.text = text
  }

  changes(): SettingsChange[] {
    return [...this.#files.values()].filter(({ file, text }) => file.text !== text)
  }

  async #entry(path: string) {
    const known = this.#files.get(path)
    if (known !== undefined) return known
    const file = await readSettings(path)
    const entry = { file, text: file.text }
    this.#files.set(path, entry)
    return entry
  }
}

function added(text: string | undefined, addition: Addition): Inserted | undefined {
  switch (addition.kind) {
    case 'json':
      return addJson(text ?? EMPTY_JSON, addition)
    case 'toml':
      return addToml(text ?? '', addition)
    case 'file':
      if (text === addition.text) return undefined
      if (text !== undefined) throw unusable(addition.file, 'exists, and this command did not write it')
      return { text: addition.text, insertion: addition.text }
  }
}

/** The text without an addition; `isLeft` if the addition was changed since. */
function removed(text: string, { addition, insertion }: WrittenAddition): { text: string; isLeft: boolean } {
  const at = text.indexOf(insertion)
  if (at >= 0 && text.indexOf(insertion, at + 1) < 0)
    return { text: `${text.slice(0, at)}${text.slice(at + insertion.length)}`, isLeft: false }
  const without = addition.kind === 'json' ? removeJson(text, addition) : undefined
  return without === undefined ? { text, isLeft: true } : { text: without, isLeft: false }
}

const nameOf = (addition: Addition): string =>
  addition.kind === 'json' ? addition.path.join('.') : addition.kind === 'toml' ? addition.table.join('.') : 'the file'

/** Removes all additions of an installation, the last written first. Returns those that were changed since. */
async function withoutInstallation(texts: Texts, { written, newFiles }: Installation): Promise<string[]> {
  const left: string[] = []
  for (const each of written.toReversed()) {
    const { file } = each.addition
    const text = await texts.of(file)
    if (text === undefined) continue
    const without = removed(text, each)
    if (without.isLeft) left.push(`${nameOf(each.addition)} in ${file}`)
    await texts.set(file, without.text)
  }
  for (const file of newFiles) {
    const text = await texts.of(file)
    if (text === EMPTY_JSON || text === '') await texts.set(file, undefined)
  }
  return left
}

/** The directories on the way to a file that do not exist. */
function missingFolders(file: string): string[] {
  const folder = dirname(file)
  return existsSync(folder) || folder === file ? [] : [folder, ...missingFolders(folder)]
}

/** Plans the installation for a program. It replaces an earlier one, for example of another version. */
export async function planInstall(program: AgentProgram, world: InstallWorld): Promise<InstallPlan> {
  const { environment, home, commands, store, rules, guard, compacts, folder } = world
  const { name: agent } = program
  const texts = new Texts()
  const before = findInstallation(folder, agent)
  const left = before === undefined ? [] : await withoutInstallation(texts, before)
  const written: WrittenAddition[] = []
  const files = new Set<string>()
  for (const addition of program.additions(program.folder(environment, home), commands, home)) {
    const { file } = addition
    const text = await texts.of(file)
    if (text === undefined) files.add(file)
    const inserted = added(text, addition)
    if (inserted === undefined) continue
    await texts.set(file, inserted.text)
    written.push({ addition, insertion: inserted.insertion })
  }
  const newFiles = [...files]
  const newFolders = [
    ...[...newFiles, `${folder}/file`].flatMap(missingFolders),
    // The directory of hooks is of all installations.
    ...world.installations.flatMap((each) => each.newFolders),
  ]
  return {
    program,
    changes: texts.changes(),
    installation: {
      agent,
      store,
      ...withoutUndefined({ rules, guard, compacts }),
      written,
      newFiles,
      newFolders: [...new Set(newFolders)],
    },
    left,
  }
}

/** Plans the removal of an installation. */
export async function planRemoval(program: AgentProgram, installation: Installation): Promise<InstallPlan> {
  const texts = new Texts()
  const left = await withoutInstallation(texts, installation)
  return { program, changes: texts.changes(), installation: undefined, left }
}
