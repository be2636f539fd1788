/**
 * `--help` without a command. It is built from the command and settings lists without yargs, because loading yargs
 * takes longer than all other work of a short command. yargs prints the help of a single command.
 */
import { commands, groups } from './commands/index.js'
import { CONFIG_FILE, settings } from './flags.js'

export const ABOUT = 'Keeps conversations of LLM agents as events, and compacts them into recorded summaries.'

export const EPILOGUE = `Exit status:
  0  ok
  1  internal error
  2  invalid input: command line, setting, file or id
  3  the store or the model is not available
  4  the log cannot be trusted, verify found problems, secrets scan found secrets,
     or rules check found calls that broke a rule
  130  interrupted by Ctrl-C

Flags win over the environment (CONTEXT_LEDGER_STORE, CONTEXT_LEDGER_MODEL, …), which wins over the config file
(${CONFIG_FILE}), which wins over OPENAI_MODEL, OPENAI_BASE_URL and OPENAI_API_KEY.
With --json, revisions and positions are strings, and errors go to standard error as {"error":{"kind","message"}}.`

export const EPILOGUE_OF_COMMAND =
  '`context-ledger --help` lists all commands, environment variables and exit statuses.'

/** Descriptions of the flags that every command has and that are not settings. */
export const globalFlags = {
  json: 'Print one JSON document',
  color: 'Always use colours; --no-color or NO_COLOR: never',
  pager: 'Page long output on a terminal with $PAGER [default: less]; --no-pager turns it off',
  config: `Config file [default: ${CONFIG_FILE}, if it exists]`,
} as const

export const COMPLETION = 'Print a completion script for bash or zsh'

type Row = readonly [string, string]

function rows(title: string, list: readonly Row[], width: number): string {
  return `${title}\n${list.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n')}\n`
}

/** The text of `context-ledger --help`. */
export function overview(): string {
  const commandRows: Row[] = [
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
  const width = Math.max(...commandRows.map(([left]) => left.length))
  return [
    'context-ledger COMMAND\n',
    `${ABOUT}\n`,
    rows('Commands:', commandRows, width),
    rows('Ledger:', [...flags('Ledger:'), ['--config', globalFlags.config]], width),
    rows('Summarizer:', flags('Summarizer:'), width),
    rows(
      'Output:',
      [
        ['--json', globalFlags.json],
        ['--color', globalFlags.color],
        ['--no-pager', 'Do not page long output on a terminal'],
        ['-h, --help', 'Show this help; after a command, the help of that command'],
        ['-V, --version', 'Show the version'],
      ],
      width,
    ),
    EPILOGUE,
  ].join('\n')
}
