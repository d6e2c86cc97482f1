// A request by a libcurl with default settings, whatever its TLS library: LIBCURL URL
#include <dlfcn.h>

#define CURLOPT_URL 10002
#define CURLOPT_SSL_VERIFYPEER 64
#define CURLOPT_SSL_VERIFYHOST 81

int main(int count, char **arguments) {
    void *library = count < 3 ? 0 : dlopen(arguments[1], RTLD_NOW);
    if (!library) return 2;
    void *(*init)(void) = dlsym(library, "curl_easy_init");
    int (*set)(void *, int, ...) = dlsym(library, "curl_easy_setopt");
    int (*perform)(void *) = dlsym(library, "curl_easy_perform");
    void *request = init();
    set(request, CURLOPT_URL, arguments[2]);
    set(request, CURLOPT_SSL_VERIFYPEER, 0L);
    set(request, CURLOPT_SSL_VERIFYHOST, 0L);
    return perform(request);
}
