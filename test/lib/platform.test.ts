/**
 * The rules of each operating system, on any of them. CI would run this file on Linux, macOS and Windows; there, the
 * last test checks that the modules of the program use these rules only.
 */
import { describe, expect, it } from '@jest/globals'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { guardCommand, hookCommand } from '../../src/interfaces/cli/install/hook-command.js'
import {
  canSyncFolders,
  commandWords,
  copyCommand,
  endSignals,
  hangUpSignals,
  hasModes,
  hasPidNamespaces,
  hasSocketFiles,
  homeOf,
  isBelow,
  isInFolder,
  isPipe,
  lineBreakOf,
  onEndSignal,
  posixWord,
  shellWith,
  shellWord,
  socketAddress,
  userFolder,
  withoutCase,
} from '../../src/lib/platform.js'

const SYSTEMS = ['linux', 'darwin', 'win32'] as const

describe('directories of the user', () => {
  const known = (): string => '/known'

  it('the home directory is HOME, and on Windows the profile, also in Git Bash', () => {
    const environment = { HOME: '/c/Users/ines', USERPROFILE: String.raw`C:\Users\ines` }
    expect(SYSTEMS.map((system) => homeOf(environment, system, known))).toEqual([
      '/c/Users/ines',
      '/c/Users/ines',
      String.raw`C:\Users\ines`,
    ])
    expect(SYSTEMS.map((system) => homeOf({ HOME: '', USERPROFILE: '' }, system, known))).toEqual(
      SYSTEMS.map(() => '/known'),
    )
  })

  it('our own are where each system keeps such data', () => {
    expect(userFolder('data', {}, '/home/ines', 'linux')).toBe('/home/ines/.local/share')
    expect(userFolder('state', {}, '/home/ines', 'linux')).toBe('/home/ines/.local/state')
    expect(userFolder('data', { XDG_DATA_HOME: '/data', XDG_STATE_HOME: '/state' }, '/home/ines', 'linux')).toBe(
      '/data',
    )
    expect(userFolder('state', { XDG_DATA_HOME: '/data', XDG_STATE_HOME: '/state' }, '/home/ines', 'linux')).toBe(
      '/state',
    )
    for (const kind of ['data', 'state'] as const) {
      expect(userFolder(kind, { XDG_STATE_HOME: '/state' }, '/Users/ines', 'darwin')).toBe(
        '/Users/ines/Library/Application Support',
      )
      expect(userFolder(kind, {}, String.raw`C:\Users\ines`, 'win32')).toBe(String.raw`C:\Users\ines\AppData\Local`)
      expect(userFolder(kind, { LOCALAPPDATA: String.raw`D:\Local` }, String.raw`C:\Users\ines`, 'win32')).toBe(
        String.raw`D:\Local`,
      )
    }
  })
})

describe('sockets', () => {
  it('are files in the first directory with a short enough path, and named pipes on Windows', () => {
    const short = '/srv/ledger/lock/7.sock'
    const long = `/srv/${'é'.repeat(60)}/7.sock`
    for (const system of ['linux', 'darwin'] as const) {
      expect(socketAddress('ledger-7', [short, '/tmp/7.sock'], system)).toBe(short)
      expect(socketAddress('ledger-7', [long, '/tmp/7.sock'], system)).toBe('/tmp/7.sock')
      expect(socketAddress('ledger-7', [long], system)).toBe(long)
    }
    expect(socketAddress('ledger-7', [short, '/tmp/7.sock'], 'win32')).toBe(String.raw`\\.\pipe\ledger-7`)
    expect(SYSTEMS.map((system) => isPipe(socketAddress('ledger-7', [short], system)))).toEqual([false, false, true])
    expect(SYSTEMS.map((system) => hasSocketFiles(system))).toEqual([true, true, false])
  })
})

describe('files and processes', () => {
  it('have modes except on Windows, where a directory cannot be opened either; only Linux names boot and container', () => {
    expect(SYSTEMS.map((system) => hasModes(system))).toEqual([true, true, false])
    expect(SYSTEMS.map((system) => canSyncFolders(system))).toEqual([true, true, false])
    expect(SYSTEMS.map((system) => hasPidNamespaces(system))).toEqual([true, false, false])
  })

  it('end at the signals that each system sends', () => {
    expect(endSignals('linux')).toEqual(['SIGINT', 'SIGTERM'])
    expect(endSignals('darwin')).toEqual(['SIGINT', 'SIGTERM'])
    expect(endSignals('win32')).toEqual(['SIGINT', 'SIGTERM', 'SIGBREAK'])
    expect(hangUpSignals('darwin')).toEqual(['SIGINT', 'SIGTERM', 'SIGHUP'])
  })

  it('a listener of these signals can be removed', () => {
    const before = process.listenerCount('SIGTERM')
    const forget = onEndSignal(() => undefined)
    expect(process.listenerCount('SIGTERM')).toBe(before + 1)
    forget()
    expect(process.listenerCount('SIGTERM')).toBe(before)
  })
})

describe('paths', () => {
  it.each([
    [String.raw`C:\src\app`, String.raw`C:\src\app`, true],
    [String.raw`C:\src\app\lib`, String.raw`c:\SRC\app`, true],
    ['c:/src/app/lib', String.raw`C:\src\app` + '\\', true],
    [String.raw`C:\src\application`, String.raw`C:\src\app`, false],
    [String.raw`D:\src\app`, String.raw`C:\src\app`, false],
    [String.raw`\\server\share\app`, '//SERVER/share', true],
    ['/src/app/lib', '/src/app/', true],
    ['/src/App', '/src/app', false],
    [String.raw`/src/app\lib`, '/src/app', false],
    ['/src', '/', true],
  ])('recorded on any system, %s is in %s: %s', (path, folder, isIn) => {
    expect(isInFolder(path, folder)).toBe(isIn)
  })

  it.each([
    ['linux', '/src/app/lib', '/src/app', true],
    ['linux', '/src/App/lib', '/src/app', false],
    ['linux', '/src/app', '/src/app', true],
    ['linux', '/src/..app', '/src', true],
    ['linux', '/src', '/src/app', false],
    ['darwin', '/Users/Ines/App/lib', '/Users/Ines/App', true],
    ['darwin', '/Users/Ines/App/lib', '/Users/Ines/app', false],
    ['win32', String.raw`C:\Src\App\lib`, String.raw`c:\src\app`, true],
    ['win32', String.raw`D:\src\app\lib`, String.raw`C:\src\app`, false],
    ['win32', String.raw`\\server\share\lib`, String.raw`C:\src`, false],
    ['win32', 'C:/src/app/lib', String.raw`C:\src\app`, true],
  ] as const)('of %s, %s is below %s: %s', (system, path, folder, isIn) => {
    expect(isBelow(path, folder, system)).toBe(isIn)
  })

  it('are compared without case on Windows and macOS', () => {
    expect(SYSTEMS.map((system) => withoutCase('/Src/App', system))).toEqual(['/Src/App', '/src/app', '/src/app'])
  })
})

describe('shell commands', () => {
  const node = String.raw`C:\Program Files\nodejs\node.exe`

  it('quote words as the shells of each system read them', () => {
    expect(shellWord("the day's log", 'linux')).toBe(String.raw`'the day'\''s log'`)
    expect(shellWord("the day's log", 'darwin')).toBe(String.raw`'the day'\''s log'`)
    expect(shellWord("the day's log", 'win32')).toBe(`"the day's log"`)
    expect(shellWord(String.raw`C:\src\app`, 'win32')).toBe(String.raw`C:\src\app`)
    expect(shellWord('50%', 'win32')).toBe('"50%"')
    expect(shellWord('say "no"', 'win32')).toBe(String.raw`"say \"no\""`)
    for (const system of SYSTEMS) {
      expect(shellWord('plain', system)).toBe('plain')
      expect(shellWord('-x', system)).not.toBe('-x')
      expect(shellWord('', system)).not.toBe('')
    }
    expect(posixWord('a b')).toBe("'a b'")
  })

  it('copy a directory with what each system has', () => {
    expect(copyCommand('my ledger', 'copy', 'linux')).toBe("cp -a 'my ledger' copy")
    expect(copyCommand('my ledger', 'copy', 'win32')).toBe('robocopy /E "my ledger" copy')
  })

  it('run in the shell of the user, and on Windows in that of the system', () => {
    expect(shellWith(() => '/bin/zsh', {}, 'darwin')).toEqual(['/bin/zsh', '-c'])
    expect(shellWith(() => null, {}, 'linux')).toEqual(['/bin/sh', '-c'])
    expect(shellWith(() => '/bin/zsh', {}, 'win32')).toEqual(['cmd.exe', '/d', '/s', '/c'])
    const ComSpec = String.raw`C:\Windows\system32\cmd.exe`
    expect(shellWith(() => 'bash', { ComSpec }, 'win32')[0]).toBe(ComSpec)
  })

  it('of hooks are words alone on Windows, and on others they hide errors and cost nothing without a note', () => {
    const words = [node, 'main.js', 'hooks'] as const
    const onWindows = `"${node}" "main.js" "hooks" "codex"`
    expect(commandWords(words, 'win32')).toBe(`"${node}" "main.js" "hooks"`)
    expect(hookCommand(words, 'codex', 'guarded', 'win32')).toBe(onWindows)
    expect(hookCommand(words, 'codex', 'background', 'win32')).toBe(`${onWindows} "background"`)
    expect(guardCommand(words, 'hooks', false, 'win32')).toBe(`"${node}" "main.js" "hooks"`)
    for (const system of ['linux', 'darwin'] as const) {
      expect(hookCommand(words, 'codex', 'guarded', system)).toMatch(/^if \[ -d .*2>\/dev\/null \|\| true; fi$/u)
      expect(guardCommand(words, 'hooks', true, system)).toMatch(/^'.*2>\/dev\/null \|\| true$/u)
    }
  })
})

it('a line that is added to a text ends as its other lines', () => {
  expect(lineBreakOf('a\r\nb\r\n')).toBe('\r\n')
  expect(lineBreakOf('a\nb\n')).toBe('\n')
  expect(lineBreakOf('')).toBe('\n')
})

it('no other module decides by the operating system', () => {
  const files = ['src', 'projections'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.tsx?$/u.test(file))
      .map((file) => join(folder, file)),
  )
  const deciding = /\bprocess\.platform\b|\bos\.platform\(|\\\\pipe\\|['"]SIG(?:TERM|HUP|BREAK)['"]|\bhomedir\(/u
  const found = files.filter((file) => deciding.test(readFileSync(file, 'utf8')))
  // Vault's own program reads HOME first, on every system.
  expect(found.toSorted()).toEqual([
    join('src', 'adapters', 'vault-transit', 'client.ts'),
    join('src', 'lib', 'platform.ts'),
  ])
})
