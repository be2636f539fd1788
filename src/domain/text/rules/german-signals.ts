/** Signs of a standing rule in German, and signs against one. */
import { APPROVAL, DAYS, IMPERATIVES, TIME, TONGUE, WIPE } from './german-words.js'
import { opening, signal, type Signal } from './signals.js'

const NUMBER = String.raw`\d[\d.,]*|ein(?:e[nrms]?)?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|zwölf|fünfzehn|zwanzig|dreißig|fünfzig|hundert|tausend|ein paar|halbe[nr]?`
/** Verbs of work in the second person, as in "buchst du" and "du buchst". */
const YOU = String.raw`\p{L}{3,}(?<!kann|will|mag|wei(?:ß)|has|bis|wirs|würd|könnt|möcht|wolltes|warst|ha|bi|denk|glaub|siehs|fühl|find)st`

export const GERMAN_SIGNALS: readonly Signal[] = [
  signal(
    'scope',
    3,
    String.raw`jede[rsnm]?|jedes mal|jedwede\p{L}*|jeglich\p{L}*|sämtliche\p{L}*|immer|stets|nie(?:mals|mand\p{L}*)?|keiner|nirgend\p{L}*|grundsätzlich|generell|ausnahmslos|alles|egal (?:ob|was|wie|wer|wann|welch\p{L}*)|ganz gleich|unabhängig|überall|wann immer|wo immer|was auch immer|durchweg|konsequent|zwingend|unbedingt|keinesfalls|keinerlei|unter keinen umständen|auf keinen fall|in keinem fall|zu keiner zeit|keinem|nichts`,
  ),
  signal(
    'standing',
    4,
    'ohne ausnahme|es sei denn|und zwar|dann \\p{L}+st du|ausnahmslos|standardmäßig|ab sofort|künftig|von jetzt an|bis auf weiteres|in der regel|gilt (?:für|immer|ab|auch|hier)|es gilt|bei uns|in diesem (?:repo|projekt)|die regel|grundsätzlich|egal (?:ob|was|wie|wer)|punkt|ende der durchsage|fertig|basta|aus',
  ),
  signal('scope of a group', 1, String.raw`alle[nrms]?|kein\p{L}*|pro \p{L}+|je \p{L}+|beide\p{L}*|auch`),
  signal(
    'exclusive',
    3,
    String.raw`ausschließlich|lediglich|einzig(?:e[nrms]?)?|allein(?:e|ige\p{L}*)?|sonst|ander(?:e[nrms]?|swo\p{L}*)|außer|abgesehen von|bis auf|nirgendwo|genau (?:ein\p{L}*)|vorbehalten|zuständig\p{L}*|(?:allein )?sache (?:von|des|der)|bestimmt (?:für)?|niemand(?:em|en)? (?:sonst|anders|außer)|nur (?:über|via|per|durch|mit|an|bei|von|aus|in|im|ins|auf|unter|nach|zu|zum|zwischen|noch|wenn|der|die|das)`,
  ),
  signal(
    'hands off',
    6,
    '(?:ist|sind) nichts für dich|(?:geht|gehen) dich nichts an|nicht für deine augen|nicht deine (?:sache|aufgabe|baustelle)',
  ),
  signal('only', 2, 'nur|bloß'),
  signal('no X', 3, String.raw`kein(?:e|en|er)? \p{L}+(?=[.!]?$)`),
  signal(
    'only X does, no more than',
    5,
    String.raw`(?:nicht|nie) \p{L}{3,}er als|\p{L}{3,}t (?:allein|einzig|nur|ausschließlich) \p{L}+(?=[.;,]?$)|(?:hältst du|halte|halt) (?:bitte )?abstand|bleibst du (?:weg|fern)`,
  ),
  signal('negation', 2, 'nicht|kein\\p{L}*|weder'),
  signal(
    'limit',
    3,
    String.raw`höchstens|maximal|mindestens|max\.|(?:das |ein )?(?:maximum|minimum|limit|höchstmaß)|obergrenze|grenze|deckel|(?:nicht |keine? |kein )?(?:mehr|länger|höher|größer|weniger|später|früher|öfter|älter) als|(?:unter|unterhalb|oberhalb|über|innerhalb|binnen|bis zu|bis)(?: von)? (?:den |die |der )?(?:${NUMBER})|ist (?:\S+ ){0,6}?(?:schluss|ende|feierabend)|(?:genügt|genügen|reicht|reichen)|mehr (?:nicht|geht nicht|gibt es nicht|ist nicht drin)|frühestens|spätestens|erst,? (?:ab|um|nach|wenn|nachdem|sobald)|übersteig\p{L}*|überschreit\p{L}*|vor \d`,
  ),
  signal('number', 1, String.raw`(?:${NUMBER}) \p{L}+`),
  signal(
    'force',
    3,
    String.raw`(?:muss|müssen|musst|darf|dürfen|darfst|soll|sollen|sollst)|(?:hat|haben|hast|ist|sind|bist) (?:[^\s,;]+ ){0,8}?(?:zu \p{L}{3,}n|\p{L}+zu\p{L}{3,}n)|verboten|untersagt|erlaubt|gestattet|zulässig|unzulässig|tabu\p{L}*|pflicht|verpflichtend|obligatorisch|vorgeschrieben|notwendig|erforderlich|gesperrt|sperr\p{L}+|eingefroren|unantastbar|unberührt|unangetastet|außen vor|nichts an|fest|nichts (?:zu suchen|verloren)|steht dir|die (?:finger|hände)|in ruhe|gehör(?:t|en)|zwingend|verzichte\p{L}*|unterlass\p{L}*|schreibgeschützt|geschlossen|ruht|ruhen|tabuzone|nicht (?:verhandelbar|vorgesehen)|kommt nicht in ?frage`,
  ),
  signal(
    'approval',
    3,
    String.raw`(?:ohne|erst|nur|bevor|ehe|vorher|bis|nachdem|wenn|sobald|solange|braucht|brauchen|benötig\p{L}*|erforder\p{L}*|wart\p{L}*|hol\p{L}*|muss|müssen)(?: \S+){0,9}? (?:\p{L}*(?:${APPROVAL}|unterschrieben|unterschreib\p{L}*|bestätig\p{L}*|genehmig\p{L}*|freigegeben|freigibt|absegnen|abgesegnet|zustimm\p{L}*|zugestimmt|okay|nickt|abnick\p{L}*|abzeichn\p{L}*|gegenlesen|draufschau\p{L}*|ja sag\p{L}*))`,
  ),
  opening(
    'order',
    2,
    String.raw`(?:${IMPERATIVES}|achte?|schau|guck|sorg|denk|vermeid|nutz|zeichn|druck|leer|hinterleg|verwahr|verlang|besorg|beacht|gewähr|lehn|unterschreib|prüf|wechsel|kennzeichn|behandel|betracht|behandl|erledig|richt|archivier|bezieh|beantrag|einig|stimm|verweis|reservier|wirf|lies|iss|tritt|zitier)(?:e|en sie|t)?(?= )`,
  ),
  opening(
    'when X, you do Y',
    6,
    String.raw`(?:wenn |falls |sobald |sooft |wer )?\p{L}{3,} [^,?]{4,90}, (?:dann |bitte )?(?:${YOU}) du`,
  ),
  signal('you do', 2, String.raw`(?:${YOU}) (?:du|mir|ihn|sie|es|den|die|das|dem|bitte)|du (?:\S+ ){0,6}?(?:${YOU})`),
  signal(
    'infinitive at the end',
    2,
    String.raw`\p{Ll}{4,}(?:en|ern|eln)(?=[.!;]?$|, (?:auch|sonst|nie|nicht|außer|bis|egal|ohne))`,
  ),
  signal(
    'habit',
    2,
    String.raw`wird|werden|bleibt|bleiben|geht|gehen|kommt|kommen|steht|stehen|liegt|liegen|läuft|laufen|gehört|gehören|bekommt|bekommen|kriegt|kriegen|enthält|enthalten|trägt|tragen|heißt|heißen|braucht|brauchen|landet|landen|verlässt|verlassen|gilt|gelten|beginnt|beginnen|endet|enden|erhält|erhalten|macht|machen|entscheidet|übernimmt|schickt|nutzt|nutzen|verwenden|schreiben wir|lassen wir|wohnt|wohnen|lautet|geschieht|erfolgt|erfolgen|ruht`,
  ),
  signal(
    'passive',
    2,
    String.raw`(?:wird|werden)(?: [^\s,;]+){0,12}? (?:nicht |nie )?(?:ge|ver|be|er|ent|zer|über|unter|ab|an|auf|aus|ein|vor|zu|weg|um|mit|frei|\p{L}+ge)\p{L}{2,}(?:t|en)`,
  ),
  signal(
    'condition',
    1,
    String.raw`wenn|falls|sobald|sofern|bevor|ehe|nachdem|solange|bis|vor (?:dem|der|jede\p{L}*)|nach (?:dem|der|jede\p{L}*)|während|außerhalb|zwischen|bei|ohne|von \S+ bis \S+`,
  ),
  signal(
    'standing condition',
    3,
    String.raw`sobald|jedes mal,? wenn|immer wenn|im fall\p{L}*|im zweifel\p{L}*|wer \p{L}+ (?:\p{L}+ )?(?:\p{L}+ )?\p{L}+t,`,
  ),
  signal('time', 1, String.raw`${TIME}|${DAYS}|uhr|werktag\p{L}*|quartal|monat|woche|tag`),
  signal(
    'contrast',
    3,
    String.raw`(?<=, |; |– |— |und )(?:nicht|nie|niemals|kein\p{L}*)(?! (?:wahr|nur|dass|weil|so|schlecht)) \S+|statt|anstatt|anstelle|sondern(?! auch)|nicht einmal`,
  ),
  signal(
    'preference',
    4,
    String.raw`(?:ich|mir|uns) (?:\S+ ){0,3}?(?:lieber|am liebsten|bevorzuge|wünsche|reicht|reichen|genügt|genügen)|ich (?:hab|habe|hätte|mag|möchte|will|sehe|lese) (?:\S+ ){0,4}?(?:lieber|gern\p{L}*|nicht|kein\p{L}*)|von dir|wär(?:e|st|t)?(?: du)? so (?:nett|lieb|gut|freundlich)|ich (?:freue mich|wäre dankbar|fände es)|bitte (?:kein\p{L}*|nicht|nur|immer)`,
  ),
  signal('please', 1, 'bitte'),
  signal(
    'language',
    3,
    String.raw`(?:auf |in )?${TONGUE}|tschechisch|ungarisch|dänisch|schwedisch|norwegisch|kroatisch|griechisch|ukrainisch|arabisch|rumänisch|per (?:du|sie)`,
  ),
  signal(
    'scrub',
    2,
    String.raw`(?:un|ge|ver)?${WIPE}\p{L}*|sternchen|unkenntlich|letzten (?:\p{L}+|\d) (?:ziffern|stellen|zeichen)|\p{L}*(?:passwört\p{L}+|passwort|kennwört\p{L}+|zugangsdaten|pins?|token|kontonummern?|iban)|klartext|log\p{L}*|protokoll\p{L}*`,
  ),
  signal('copy', 3, String.raw`(?:eine )?kopie|in (?:cc|bcc)|durchschlag|nachrichtlich|mit(?:lesen|liest)`),
  signal(
    'work',
    1,
    String.raw`\p{L}*(?:repo\p{L}*|branch\p{L}*|commit\p{L}*|merge\p{L}*|deploy\p{L}*|release\p{L}*|datenbank\p{L}*|tabelle\p{L}*|skript\p{L}*|server\p{L}*|ordner\p{L}*|verzeichnis\p{L}*|ticket\p{L}*|rechnung\p{L}*|kund(?:en|in|e)\p{L}*|lieferant\p{L}*|bestellung\p{L}*|bericht\p{L}*|antwort\p{L}*|nachricht\p{L}*|mail\p{L}*|konto|konten|backup\p{L}*|bild(?:er|ern)?|fotos?|verträge|vertrag|zahlung\p{L}*|doku\p{L}*|export\p{L}*|spalte\p{L}*|nummer\p{L}*|kanal|kanäle|budget|kosten|team|rechte|zugriff\p{L}*|module?s?|änderung\p{L}*|formular\p{L}*|termin\p{L}*|build\p{L}*|test\p{L}*|update\p{L}*|gutschein\p{L}*|rabatt\p{L}*|postfach|laufwerk)|\S+@\S+|\S*/\S+|#\p{L}\S*|\p{L}+_\p{L}+`,
  ),
  signal('you', 1, 'du|dir|dich|dein\\p{L}*|wir|uns|unser\\p{L}*|agenten?'),

  signal(
    'against: the speaker',
    -4,
    String.raw`ich (?!bevorzuge|möchte,? dass|will|hab|habe es|hätte|mag|wünsche|brauche|zugestimmt|dir|das (?:frei|ok)|es (?:sage|frei)|nicht|sage|okay|bestätig|freigeb|lese|sehe|erwarte)\p{L}+|(?:bin|habe|werde|würde|musste|hatte|wollte|glaube|denke|finde|hab) ich|mein(?:e[nrms]?)? (?!ok|freigabe|zustimmung|okay|ja|go|einverständnis|posteingang|rücksprache|erlaubnis|bestätigung)\p{L}+|lass uns|(?<!wie )er (?:hat|war|sagt|meint|will|kommt)|man`,
  ),
  signal(
    'against: a rule taken back',
    -12,
    String.raw`(?:darfst|kannst|dürfen) (?:\S+ ){0,8}wieder|gilt (?:\S+ )?nicht mehr|aufgehoben`,
  ),
  signal(
    'against: past',
    -12,
    String.raw`war|waren|hatte|hatten|wurde|wurden|konnte\p{L}*|musste\p{L}*|durfte\p{L}*|wollte\p{L}*|ging|kam|lief|stand|gab|sagte|dachte|schrieb|grüßte|gestern|vorgestern|damals|früher|bisher|letzte[nrs]? (?:woche|nacht|monat|jahr|frühling|sommer|mal)|seit (?:gestern|dem|letzte\p{L}*)|vorhin|vor (?:\p{L}+ )?(?:jahren|wochen|tagen|der fusion)|(?:hat|haben|habe|hab)(?: [^\s,;]+){1,10} (?:ge|ver|be|er|ent|\p{L}+ge)\p{L}{2,}(?:t|en)(?=[,.]|$| (?:und|weil|als))`,
  ),
  signal(
    'against: once',
    -5,
    String.raw`jetzt(?! an)|heute(?! an)|morgen(?! früh| abend)|gerade|gleich|eben|mal (?:eben|kurz|schnell|nach)|schnell|diesmal|nochmal|noch mal|noch einmal|(?:in |an )?(?:diese[nrms]?) (?!repo|projekt|regel)\p{L}+|schau mal|hier auf|den zweiten|die erste`,
  ),
  signal(
    'against: guess',
    -4,
    String.raw`so ist (?:sie|er|es)|(?:steht|gibt es|finde\p{L}*) (?:\p{L}+ )?nichts|nichts zum|vielleicht|wahrscheinlich|wohl|scheint|scheinbar|anscheinend|vermutlich|eigentlich|oder so|könnte\p{L}*|würde\p{L}*|hoffe\p{L}*|möglich\p{L}*|meistens|manchmal|oft|weil|ob|kann man|glaub\p{L}*|denke`,
  ),
  signal(
    'against: feeling',
    -5,
    String.raw`lieb(?:e|en|t)|glücklich|freue|toll|super|schade|leider|wunderbar|danke|sorry|freund\p{L}*|familie|mama|papa|oma|opa|kinder|leben|herz\p{L}*|traum|träume|klar|genau, |na ja|ach|tja`,
  ),
  signal(
    'against: fact',
    -5,
    String.raw`in der regel sind|menschen|tiere|planet\p{L}*|die erde|beispiel\p{L}*|z\. ?b\.|bedeutet|nämlich so|uuids?|standardwert|funktion|methode|klasse|gibt .* zurück|laut`,
  ),
]
