/** The folder of this package. It is searched from this module, which the build may put into any folder of `dist`. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

/** The nearest folder above a file that has a package.json; undefined if there is none. */
export function packageFolderOf(file: string): string | undefined {
  const folder = dirname(file)
  if (folder === file) return undefined
  return existsSync(join(folder, 'package.json')) ? folder : packageFolderOf(folder)
}

/**
 * The path of a file of this package that the build makes, for example `src/page/assets`.
 * @throws if this module was copied out of the package
 */
export function builtFile(...path: string[]): string {
  const root = packageFolderOf(fileURLToPath(import.meta.url))
  if (root === undefined) throw new Error(`${path.join('/')} is missing: install the package context-ledger`)
  return join(root, 'dist', ...path)
}

const OwnPackage = z.object({ name: z.literal('context-ledger'), version: z.string() })

/** The version of this package; `unknown` if this module was copied into another one. */
export function packageVersion(): string {
  const root = packageFolderOf(fileURLToPath(import.meta.url))
  if (root === undefined) return 'unknown'
  const { success, data } = OwnPackage.safeParse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')))
  return success ? data.version : 'unknown'
}
