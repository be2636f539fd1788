/**
 * `--help` without a command. It is made from the same lists as the rest, and without yargs: to load yargs and to
 * measure its columns takes longer than everything else that a short command does. Help behind a command is made by
 * yargs.
 */
import { commands, groups } from './commands/index.js'
import { CONFIG_FILE, settings } from './flags.js'

export const ABOUT = 'Keeps conversations of LLM agents as events, and compacts them into recorded summaries.'

export const EPILOGUE = `Exit status:
  0  ok
  1  a bug of ours
  2  what was asked is wrong: the command line, a setting, a file, an id
  3  the store or the model cannot be used now
  4  the log cannot be trusted, or verify found problems
  130  stopped by Ctrl-C

Flags win over the environment (CONTEXT_LEDGER_STORE, CONTEXT_LEDGER_MODEL, …), which wins over the config file
(${CONFIG_FILE}), which wins over OPENAI_MODEL, OPENAI_BASE_URL and OPENAI_API_KEY.
With --json, revisions and positions are strings, and errors go to standard error as {"error":{"kind","message"}}.`

/** What is said of the flags that every command has and that are no settings. */
export const globalFlags = {
  json: 'Print one JSON document',
  color: 'Colours, though it is no terminal; --no-color or NO_COLOR: none on a terminal either',
  pager: 'Show long output on a terminal through $PAGER [default: less]; --no-pager: never',
  config: `Config file [default: ${CONFIG_FILE}, where there is one]`,
} as const

export const COMPLETION = 'Print a completion script for bash or zsh'

type Row = readonly [string, string]

function rows(title: string, list: readonly Row[], width: number): string {
  return `${title}\n${list.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n')}\n`
}

/** The help of the whole. */
export function overview(): string {
  const told: Row[] = [
    ...commands.map(({ words, describe }): Row => [words, describe]),
    ...groups.flatMap((group) =>
      group.commands.map(({ words, describe }): Row => [`${group.word} ${words}`, describe]),
    ),
    ['completion', COMPLETION],
  ]
  const flags = (group: string): Row[] =>
    settings
      .filter((setting) => setting.group === group)
      .map(({ flag, describe, choices }): Row => [
        `--${flag}`,
        `${describe}${choices === undefined ? '' : ` (${choices.join(', ')})`}`,
      ])
  const width = Math.max(...told.map(([left]) => left.length))
  return [
    'context-ledger COMMAND\n',
    `${ABOUT}\n`,
    rows('Commands:', told, width),
    rows('Ledger:', [...flags('Ledger:'), ['--config', globalFlags.config]], width),
    rows('Summarizer:', flags('Summarizer:'), width),
    rows(
      'Output:',
      [
        ['--json', globalFlags.json],
        ['--color', globalFlags.color],
        ['--no-pager', globalFlags.pager],
        ['-h, --help', 'This; behind a command, its own flags, the policy’s among them'],
        ['-V, --version', 'The version'],
      ],
      width,
    ),
    EPILOGUE,
  ].join('\n')
}
