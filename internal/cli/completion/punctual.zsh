#compdef punctual
# Completes punctual in zsh. Load it with: source <(punctual completion zsh)
# or write it to a file _punctual in a directory of fpath.

_punctual() {
    local line word
    local -a found
    while IFS= read -r line; do
        word=${line%%$'\t'*}
        found+=("${word//:/\\:}:${line#*$'\t'}")
    done < <("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#found} )); then
        _describe -o punctual found
    else
        _files
    fi
}

if [ "$funcstack[1]" = "_punctual" ]; then
    _punctual "$@"
else
    compdef _punctual punctual
fi
