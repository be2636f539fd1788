/** `install`: shows the changes to settings of agents, and writes them after a confirmation. */
import { createTwoFilesPatch } from 'diff'
import { existsSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { notKnown } from '../../../domain/text/known-names.js'
import { isService } from '../../../library/addresses.js'
import { isLedgerError, LedgerError } from '../../../lib/ledger-error.js'
import { builtFile } from '../../../lib/package-root.js'
import { loadConfig, type Config } from '../config/load-config.js'
import { rulesOf } from '../config/rules.js'
import { confirmed } from '../confirm.js'
import { CommandExit, EXIT } from '../errors.js'
import type { Flags } from '../flags.js'
import { homeFolder } from '../../../lib/user-folders.js'
import { removeGuarded } from '../hook/guard-folder.js'
import { GUARD_ACTIONS, type GuardAction } from '../hook/guard-action.js'
import { defaultHookFolder, lastProblem } from '../hook/hook-folder.js'
import { colours, line, note, noteColours, printable, showTable } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { withLedger } from '../session.js'
import type { AgentProgram, InstalledCommands, InstalledGuard } from './agent-program.js'
import { checkInstallation, type InstallationCheck } from './check-installation.js'
import { guardCommand, hookCommand } from './hook-command.js'
import { recordedAgent, type RecordedAgent } from './editors.js'
import { agentPrograms, installable, titleOf } from './index.js'
import { findInstallation, writeInstallation, type Installation } from './installation.js'
import { planInstall, planRemoval, type InstallPlan } from './plan-install.js'
import { removeEmptyFolders, writeSettings } from './settings-file.js'

/** Options of the command. */
export interface InstallOptions {
  /** The program; undefined for all. */
  readonly agent: string | undefined
  /** All programs that are used on this machine. */
  readonly isAuto: boolean
  readonly checks: boolean
  readonly removes: boolean
  /** What the guard does; empty for the default, undefined without it. */
  readonly guard: string | undefined
  /** Whether plugins make summaries: empty, or `off`; undefined to leave it as it is. */
  readonly compact: string | undefined
  /** The agent that an editor runs through `acp`; undefined for other programs. */
  readonly acp: string | undefined
  readonly yes: boolean
  readonly json: boolean
}

const isUsed = (program: AgentProgram): boolean => existsSync(program.folder(process.env, homeFolder()))

function programNamed(name: string): AgentProgram {
  const program = installable.find((each) => each.name === name)
  if (program === undefined)
    throw new LedgerError(
      'Usage',
      `--agent ${JSON.stringify(name)} ${notKnown(
        name,
        installable.map((each) => each.name),
        'known agent',
      )}`,
    )
  return program
}

const installationsIn = (folder: string): Installation[] =>
  installable.flatMap(({ name }) => findInstallation(folder, name) ?? [])

/** The ledger for `--store` of the hooks. Without a setting, it is in the home directory, because hooks run in any project. */
function storeOf(config: Config, flags: Flags): string {
  const origin = config.origins['store']
  if (origin === undefined) return resolve(homeFolder(), '.context-ledger')
  const typed = origin === '--store' ? flags['store'] : process.env[origin]
  if (typeof typed === 'string' && typed.startsWith('@')) return `@${resolve(typed.slice(1))}`
  const { store } = config
  if (isService(store))
    throw new LedgerError('Usage', `${origin}: hooks write to a directory or a database, not to a service`)
  if (/^[a-z][\w+.-]*:\/\/[^/]*:[^/]*@/iu.test(store))
    throw new LedgerError(
      'Usage',
      `${origin} has a password, which would be in the settings of the agent: write the address into a file, and pass --store @FILE`,
    )
  return store
}

/** The commands of the guard. */
function guardFor(action: GuardAction, rules: string | undefined, folder: string): InstalledGuard {
  const file = builtFile('src', 'interfaces', 'cli', 'hook', 'guard-main.js')
  const words: InstalledGuard['words'] = (agent) => [
    process.execPath,
    file,
    folder,
    agent,
    action,
    ...(rules === undefined ? [] : [rules]),
  ]
  const hasRuleFile = rules !== undefined
  return { words, hasRuleFile, hook: (agent) => guardCommand(words(agent), folder, hasRuleFile) }
}

/** What the user chose for the guard: an action, `off`, or undefined to leave it as it is. */
function guardChoiceOf(given: string | undefined): GuardAction | 'off' | undefined {
  if (given === undefined || given === 'off') return given
  const action = given === '' ? 'ask' : GUARD_ACTIONS.find((each) => each === given)
  if (action === undefined)
    throw new LedgerError('Usage', `--guard ${JSON.stringify(given)} is not one of: ${GUARD_ACTIONS.join(', ')}, off`)
  return action
}

/** Whether the plugin of a program makes its summaries; undefined to leave it as it is. */
function compactChoiceOf(given: string | undefined, program: AgentProgram, isAuto: boolean): 'on' | 'off' | undefined {
  if (given === undefined) return undefined
  if (given === 'off') return 'off'
  if (given !== '') throw new LedgerError('Usage', `--compact ${JSON.stringify(given)} is not \`off\``)
  if (program.compacts === true) return 'on'
  if (isAuto) return undefined
  const able = agentPrograms.filter(({ compacts }) => compacts === true).map(titleOf)
  throw new LedgerError(
    'Usage',
    `--compact: ${titleOf(program)} does not let a plugin make its summaries; ${able.join(' and ')} do`,
  )
}

/** The commands that settings of agents name. */
function commandsFor(
  store: string,
  rules: string | undefined,
  action: GuardAction | undefined,
  compacts: true | undefined,
  recorded: RecordedAgent | undefined,
  folder: string,
): InstalledCommands {
  const node = process.execPath
  const hookWords = [node, builtFile('src', 'interfaces', 'cli', 'hook', 'main.js'), folder] as const
  return {
    folder,
    mcp: [
      ...([node, builtFile('src', 'interfaces', 'cli', 'main.js'), 'mcp', '--read-only', '--store', store] as const),
      ...(rules === undefined ? [] : ['--rules', rules]),
    ],
    hookWords,
    hook: (agent, mode) => hookCommand(hookWords, agent, mode),
    acp:
      recorded === undefined
        ? undefined
        : {
            name: recorded.name,
            words: [
              ...([
                node,
                builtFile('src', 'interfaces', 'cli', 'main.js'),
                'acp',
                '--recall',
                '--store',
                store,
              ] as const),
              ...(rules === undefined ? [] : ['--rules', rules]),
              '--',
              ...recorded.words,
            ],
          },
    guard: action === undefined ? undefined : guardFor(action, rules, folder),
    compactor:
      compacts === undefined
        ? undefined
        : (agent) => [node, builtFile('src', 'interfaces', 'cli', 'hook', 'compact-main.js'), folder, agent],
  }
}

/** The agent for an editor. Other programs have none. */
function recordedFor(
  { acp: given, guard, compact }: Pick<InstallOptions, 'acp' | 'guard' | 'compact'>,
  program: AgentProgram | undefined,
): RecordedAgent | undefined {
  if (program?.isEditor === true) {
    if (given === undefined)
      throw new LedgerError(
        'Usage',
        `--agent ${program.name} needs --acp AGENT: the agent that it runs, for example --acp opencode`,
      )
    if (guard !== undefined || compact !== undefined)
      throw new LedgerError(
        'Usage',
        `--guard and --compact are for programs that run agents, not for ${titleOf(program)}`,
      )
    return recordedAgent(given)
  }
  if (given !== undefined) throw new LedgerError('Usage', '--acp needs --agent zed or --agent jetbrains')
  return undefined
}

async function chosenPlans(flags: Flags, options: InstallOptions, folder: string): Promise<InstallPlan[]> {
  const { agent, removes } = options
  const named = agent === undefined ? undefined : [programNamed(agent)]
  if (removes) {
    const plans: InstallPlan[] = []
    for (const program of named ?? installable) {
      const installation = findInstallation(folder, program.name)
      if (installation !== undefined) plans.push(await planRemoval(program, installation))
    }
    return plans
  }
  const programs = named ?? agentPrograms.filter(isUsed)
  const recorded = recordedFor(options, named?.[0])
  if (programs.length === 0)
    throw new LedgerError(
      'Usage',
      `found none of these programs on this machine: ${agentPrograms.map(titleOf).join(', ')}`,
    )
  const config = await loadConfig({ flags, env: process.env, cwd: process.cwd() }, { writes: false })
  // An unreadable file is an error now, not when a hook runs.
  await rulesOf(config)
  const rules = config.rules === undefined ? undefined : resolve(config.baseOf('rules'), config.rules)
  const store = storeOf(config, flags)
  const choice = guardChoiceOf(options.guard)
  const world = {
    folder,
    store,
    rules,
    home: homeFolder(),
    environment: process.env,
    installations: installationsIn(folder),
  }
  const plans: InstallPlan[] = []
  for (const program of programs) {
    const before = findInstallation(folder, program.name)
    const guard = choice === 'off' ? undefined : (choice ?? before?.guard)
    const compact = compactChoiceOf(options.compact, program, options.isAuto)
    const compacts = compact === undefined ? before?.compacts : compact === 'on' ? true : undefined
    const commands = commandsFor(store, rules, guard, compacts, recorded, folder)
    plans.push(await planInstall(program, { ...world, guard, compacts, commands }))
  }
  return plans
}

const patchOf = ({ file, text }: InstallPlan['changes'][number]): string =>
  createTwoFilesPatch(file.path, file.path, file.text ?? '', text ?? '', undefined, undefined, {
    context: 2,
    headerOptions: { includeIndex: false, includeUnderline: false, includeFileHeaders: false },
  })

const actionOf = ({ file, text }: InstallPlan['changes'][number]): string =>
  text === undefined ? 'delete' : file.text === undefined ? 'create' : 'change'

async function showPlan({ program, changes, left }: InstallPlan): Promise<void> {
  for (const change of changes) {
    await line(`${colours.bold(titleOf(program))}: ${actionOf(change)} ${printable(change.file.path)}`)
    for (const row of patchOf(change).trimEnd().split('\n')) {
      const paint = row.startsWith('+') ? colours.green : row.startsWith('-') ? colours.red : colours.dim
      await line(paint(printable(row)))
    }
  }
  for (const each of left)
    note(`${noteColours.yellow('warning:')} ${each} was changed since the installation, so it stays: remove it by hand`)
}

const isNeeded = ({ changes, installation, program }: InstallPlan, folder: string): boolean =>
  changes.length > 0 || (installation === undefined) === (findInstallation(folder, program.name) !== undefined)

/** Writes a plan, with its record before the settings that need it. */
async function carryOut({ program, changes, installation }: InstallPlan, folder: string): Promise<void> {
  const before = findInstallation(folder, program.name)
  if (installation !== undefined) writeInstallation(folder, installation)
  try {
    await writeSettings(changes)
  } catch (error) {
    if (before !== undefined) writeInstallation(folder, before)
    else await forget(program.name, installation?.newFolders ?? [], folder)
    throw error
  }
  if (installation === undefined) await forget(program.name, before?.newFolders ?? [], folder)
}

/** Removes the record of an installation; with the last one, all that hooks wrote. */
async function forget(agent: string, newFolders: readonly string[], folder: string): Promise<void> {
  rmSync(`${folder}/${agent}.json`, { force: true })
  if (installationsIn(folder).length === 0) rmSync(folder, { recursive: true, force: true })
  await removeEmptyFolders(newFolders)
}

async function showStatus(folder: string, json: boolean): Promise<void> {
  const rows = installable.map((program) => ({
    agent: program.name,
    isUsed: isUsed(program),
    store: findInstallation(folder, program.name)?.store,
    lastProblem: lastProblem(folder, program.name),
  }))
  if (json) {
    await line(toWire({ agents: rows }))
    return
  }
  await showTable(
    ['agent', 'on this machine', 'installed for'],
    rows.map(({ agent, isUsed: isHere, store }) => [agent, isHere ? 'yes' : 'no', printable(store ?? '–')]),
    new Set(),
  )
  for (const { agent, lastProblem: problem } of rows)
    if (problem !== undefined)
      await line(colours.yellow(`last problem of ${agent}, ${problem.at}: ${printable(problem.problem)}`))
  await line(
    colours.dim(
      '`context-ledger install --auto` installs all on this machine; `--check` tests them; `--remove` removes them',
    ),
  )
}

/** Checks the installations of one program or of all. Fails if one of them is broken. */
async function runCheck(agent: string | undefined, folder: string, json: boolean): Promise<void> {
  const programs = agent === undefined ? installable : [programNamed(agent)]
  const checks: InstallationCheck[] = []
  for (const program of programs) {
    const installation = findInstallation(folder, program.name)
    if (installation === undefined) continue
    const check = await checkInstallation(program, installation, folder)
    checks.push(check)
    if (!json)
      await line(`${check.isWorking ? colours.green('ok') : colours.red('broken')}  ${printable(check.sentence)}`)
  }
  if (checks.length === 0)
    throw new LedgerError(
      'Usage',
      `${agent === undefined ? 'nothing is installed' : `nothing is installed for ${titleOf(programNamed(agent))}`}: run \`context-ledger install ${agent === undefined ? '--auto' : `--agent ${agent}`}\``,
    )
  if (json) await line(toWire({ checks }))
  if (checks.some(({ isWorking }) => !isWorking)) throw new CommandExit(EXIT.world)
}

/** Runs the command. */
export async function runInstall(flags: Flags, options: InstallOptions): Promise<void> {
  const { agent, isAuto, checks, removes, yes, json } = options
  if (agent !== undefined && isAuto) throw new LedgerError('Usage', '--agent cannot be combined with --auto')
  const folder = defaultHookFolder()
  if (checks) {
    if (isAuto || removes) throw new LedgerError('Usage', '--check can only be combined with --agent')
    await runCheck(agent, folder, json)
    return
  }
  if (agent === undefined && !isAuto && !removes) {
    await showStatus(folder, json)
    return
  }
  const plans = (await chosenPlans(flags, options, folder)).filter((plan) => isNeeded(plan, folder))
  const changes = plans.flatMap((plan) =>
    plan.changes.map((change) => ({
      agent: plan.program.name,
      file: change.file.path,
      action: actionOf(change),
      diff: patchOf(change),
    })),
  )
  if (!json) for (const plan of plans) await showPlan(plan)
  const isApproved = yes || plans.length === 0 || (!json && (await confirmed(removes ? 'remove?' : 'write?')))
  if (isApproved) for (const plan of plans) await carryOut(plan, folder)
  if (isApproved && existsSync(folder)) await keepGuard(folder)
  if (isApproved) await createLedgers(plans)
  if (json) await line(toWire({ changes, written: isApproved && plans.length > 0 }))
  else if (plans.length === 0) await line('nothing to do')
  else if (isApproved) await showDone(plans, removes)
  if (isApproved) return
  note('nothing was written: pass --yes to write')
  throw new CommandExit(EXIT.input)
}

/** Creates the ledgers that make summaries: an agent does not wait as long as that takes. */
async function createLedgers(plans: readonly InstallPlan[]): Promise<void> {
  const stores = plans.flatMap(({ installation }) => (installation?.compacts === true ? [installation.store] : []))
  for (const store of new Set(stores))
    await withLedger({ store, resident: 'off' }, { creates: true, ahead: false }, async ({ ledger }) => {
      await ledger.list({ limit: 1 })
    })
}

/** Gives the guards the rules of their ledgers, and nothing else. */
async function keepGuard(folder: string): Promise<void> {
  removeGuarded(folder)
  const { fillGuard } = await import('../hook/refresh-guard.js')
  const guarded = installationsIn(folder).filter(({ guard }) => guard !== undefined)
  for (const store of new Set(guarded.map((each) => each.store)))
    try {
      await withLedger({ store, resident: 'off' }, { reads: true }, async ({ ledger }) => {
        await fillGuard(ledger, folder)
      })
    } catch (error) {
      // It is made with the first note, and has no rules yet.
      if (!isLedgerError(error, 'NoLedger')) throw error
    }
}

async function showDone(plans: readonly InstallPlan[], removes: boolean): Promise<void> {
  for (const { program, installation } of plans) {
    await line(
      removes
        ? `${colours.green('removed')} from ${titleOf(program)}`
        : `${colours.green('installed')} for ${titleOf(program)}; ledger: ${printable(installation?.store ?? '')}${installation?.guard === undefined ? '' : `; guard: ${installation.guard}`}${installation?.compacts === true ? '; makes its summaries' : ''}`,
    )
    if (!removes && program.afterwards !== undefined) await line(program.afterwards)
  }
  if (!removes && process.argv[1]?.includes('_npx') === true)
    note(
      `${noteColours.yellow('warning:')} npx keeps this program in a cache that npm may clear: install the tarball of \`npm pack\` with \`npm install --global\`, then run this command again`,
    )
}
