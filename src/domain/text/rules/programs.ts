/** Programs of which a rule says "no terraform apply" or "kein sudo", as the source of a regular expression. */
const PROGRAMS =
  'sudo|terraform|tofu|kubectl|helm|npm|npx|pnpm|yarn|pip|poetry|docker(?:[ -]compose)?|git|curl|wget|psql|rsync|systemctl|cargo|composer|gradle|mvn|ansible-playbook|aws|gcloud|gh'
/** The command of a program: its next words, before a report would follow. */
export const COMMAND_OF = String.raw`(?:${PROGRAMS})(?:(?: -{0,2}[a-z][\w-]*){1,2}|(?=[.,;!]|$| (?:here|there|hier|dort|aquí)))`
/** What a rule forbids with *no* alone: "no force pushes, please". */
export const ACTS = String.raw`(?:force[- ]?push(?:es|ing)?|rebas(?:es|ing|e)|deploy(?:s|ments)?|migrations?|migration(?:en)?|migraciones)(?=[.,;!]|$| (?:please|pls|to|on|from|here|today|for now|until|before|without|auf|ohne|bis|vor|hier|heute|en|sin|hasta|aquí|hoy)(?![a-z]))`
/** After these words a sentence reports: "no npm packages were found". */
export const REPORTS =
  /(?<!\p{L})(?:(?:errors?|warnings?|found|installed|needed|required|version|output|configured|available|repo|repository|gefunden|nötig|installiert|fehler|vorhanden|encontr\p{L}+|errores?|instalad\p{L}+|hace falta|necesari\p{L}+))(?!\p{L})/u
